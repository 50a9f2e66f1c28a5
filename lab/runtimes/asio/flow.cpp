// Tasks that go through the pool again and again: pipelines and yields.
#include "adapter.hpp"
#include "definitions.hpp"
#include "workloads.hpp"

namespace lab {
namespace {

awaitable<std::uint64_t> stage(pool_executor pool, std::uint64_t depth) {
    if (depth == 1) {
        co_return 1;
    }
    co_return 1 + co_await asio::co_spawn(pool, stage(pool, depth - 1), use_awaitable);
}

awaitable<std::uint64_t> chains(std::uint64_t depth, std::uint64_t items) {
    const pool_executor pool = co_await to_the_pool();
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < items; ++i) {
        total += co_await asio::co_spawn(pool, stage(pool, depth), use_awaitable);
    }
    co_return total;
}

awaitable<std::uint64_t> run_pipelines(std::uint64_t concurrency, std::uint64_t depth, std::uint64_t items,
                                       harness::stopwatch& watch) {
    const pool_executor pool = co_await asio::this_coro::executor;
    sum_of_children all{concurrency};
    watch.start();
    for (std::uint64_t c = 0; c < concurrency; ++c) {
        asio::co_spawn(pool, chains(depth, items), all.delivery());
    }
    const std::uint64_t total = co_await all.wait();
    watch.stop();
    co_return total;
}

awaitable<std::uint64_t> yield_often(std::uint64_t yields, harness::roll_call& all) {
    co_await to_the_pool();
    all.come();
    while (all.waits()) {
        co_await asio::defer(asio::deferred);
    }
    std::uint64_t done = 0;
    for (; done < yields; ++done) {
        co_await asio::defer(asio::deferred);
    }
    co_return all.complete() ? done : 0;
}

awaitable<std::uint64_t> run_yielders(std::uint64_t tasks, std::uint64_t yields, harness::stopwatch& watch) {
    const pool_executor pool = co_await asio::this_coro::executor;
    sum_of_children all{tasks};
    harness::roll_call roll{tasks};
    watch.start();
    for (std::uint64_t t = 0; t < tasks; ++t) {
        asio::co_spawn(pool, yield_often(yields, roll), all.delivery());
    }
    const std::uint64_t done = co_await all.wait();
    watch.stop();
    co_return done;
}

}  // namespace

harness::measured pipeline(const harness::request& r) {
    const std::uint64_t concurrency = r.integer("concurrency");
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t items = r.integer("items");
    asio::thread_pool pool{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(pool, run_pipelines(concurrency, depth, items, watch)); });
}

harness::measured yield(const harness::request& r) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t yields = r.integer("yields");
    asio::thread_pool pool{r.threads()};
    return harness::measure(r,
                            [&](harness::stopwatch& watch) { return run(pool, run_yielders(tasks, yields, watch)); });
}

}  // namespace lab
