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

// A stage that runs in its caller's place, and never goes through the queue.
template <typename Executor>
counted<Executor> stage_in_place(std::uint64_t depth) {
    if (depth == 1) {
        co_return 1;
    }
    co_return 1 + co_await stage_in_place<Executor>(depth - 1);
}

// The tasks of a pipeline, each of which runs its chains.
template <typename Executor>
using chains_of_a_task = counted<Executor> (*)(std::uint64_t depth, std::uint64_t items);

template <typename Executor>
counted<Executor> chains_in_place(std::uint64_t depth, std::uint64_t items) {
    co_await to_the_queue_of<Executor>();
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < items; ++i) {
        total += co_await stage_in_place<Executor>(depth);
    }
    co_return total;
}

awaitable<std::uint64_t> chains(std::uint64_t depth, std::uint64_t items) {
    const pool_executor pool = co_await to_the_pool();
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < items; ++i) {
        total += co_await asio::co_spawn(pool, stage(pool, depth), use_awaitable);
    }
    co_return total;
}

template <typename Executor>
counted<Executor> run_pipelines(chains_of_a_task<Executor> task, std::uint64_t concurrency, std::uint64_t depth,
                                std::uint64_t items, harness::stopwatch& watch) {
    const Executor on = co_await asio::this_coro::executor;
    sum_of_children_on<Executor> all{concurrency};
    watch.start();
    for (std::uint64_t c = 0; c < concurrency; ++c) {
        asio::co_spawn(on, task(depth, items), all.delivery());
    }
    const std::uint64_t total = co_await all.wait();
    watch.stop();
    co_return total;
}

template <typename Executor>
asio::awaitable<std::uint64_t, Executor> yield_often(std::uint64_t yields, harness::roll_call& all) {
    co_await to_the_queue_of<Executor>();
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

template <typename Executor>
asio::awaitable<std::uint64_t, Executor> run_yielders(std::uint64_t tasks, std::uint64_t yields,
                                                      harness::stopwatch& watch) {
    const Executor on = co_await asio::this_coro::executor;
    sum_of_children_on<Executor> all{tasks};
    harness::roll_call roll{tasks};
    watch.start();
    for (std::uint64_t t = 0; t < tasks; ++t) {
        asio::co_spawn(on, yield_often<Executor>(yields, roll), all.delivery());
    }
    const std::uint64_t done = co_await all.wait();
    watch.stop();
    co_return done;
}

template <typename Executor>
harness::measured measure_pipelines(const harness::request& r, chains_of_a_task<Executor> task) {
    const std::uint64_t concurrency = r.integer("concurrency");
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t items = r.integer("items");
    return measure_on<Executor>(
        r, [=](harness::stopwatch& watch) { return run_pipelines<Executor>(task, concurrency, depth, items, watch); });
}

}  // namespace

harness::measured pipeline(const harness::request& r) {
    return measure_pipelines<pool_executor>(r, chains);
}

harness::measured pipeline_expert(const harness::request& r) {
    return measure_pipelines<pool_executor>(r, chains_in_place<pool_executor>);
}

harness::measured pipeline_on_one_thread(const harness::request& r) {
    return measure_pipelines<loop_executor>(r, chains_in_place<loop_executor>);
}

harness::measured yield(const harness::request& r) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t yields = r.integer("yields");
    return measure_on<pool_executor>(
        r, [=](harness::stopwatch& watch) { return run_yielders<pool_executor>(tasks, yields, watch); });
}

harness::measured yield_expert(const harness::request& r) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t yields = r.integer("yields");
    return measure_on_one_thread(
        r, [=](harness::stopwatch& watch) { return run_yielders<loop_executor>(tasks, yields, watch); });
}

}  // namespace lab
