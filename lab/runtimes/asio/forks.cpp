// Forks on the pool: awaited at once, or joined as a burst.
#include "adapter.hpp"
#include "definitions.hpp"
#include "loads.hpp"
#include "workloads.hpp"

namespace lab {
namespace {

awaitable<std::uint64_t> child(std::uint64_t i) {
    co_return i;
}

awaitable<std::uint64_t> immediate(std::uint64_t forks) {
    const pool_executor pool = co_await to_the_pool();
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < forks; ++i) {
        sum += co_await asio::co_spawn(pool, child(i), use_awaitable);
    }
    co_return sum;
}

// A child that runs in its parent's place, and never goes through the pool.
awaitable<std::uint64_t> in_place(std::uint64_t forks) {
    co_await to_the_pool();
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < forks; ++i) {
        sum += co_await child(i);
    }
    co_return sum;
}

awaitable<std::uint64_t> burst(std::uint64_t forks) {
    const pool_executor pool = co_await to_the_pool();
    sum_of_children all{forks};
    for (std::uint64_t i = 0; i < forks; ++i) {
        asio::co_spawn(pool, child(i), all.delivery());
    }
    co_return co_await all.wait();
}

using sub_task = awaitable<std::uint64_t> (*)(std::uint64_t);

awaitable<std::uint64_t> run_sub_tasks(sub_task body, std::uint64_t sub_tasks, std::uint64_t forks,
                                       harness::stopwatch& watch) {
    const pool_executor pool = co_await asio::this_coro::executor;
    sum_of_children all{sub_tasks};
    watch.start();
    for (std::uint64_t s = 0; s < sub_tasks; ++s) {
        asio::co_spawn(pool, body(forks), all.delivery());
    }
    const std::uint64_t sum = co_await all.wait();
    watch.stop();
    co_return sum;
}

awaitable<std::uint64_t> spawn_then_join(std::uint64_t count, harness::stopwatch& watch) {
    const pool_executor pool = co_await asio::this_coro::executor;
    sum_of_children all{count};
    watch.start();
    for (std::uint64_t i = 0; i < count; ++i) {
        asio::co_spawn(pool, child(i), all.delivery());
    }
    const std::uint64_t sum = co_await all.wait();
    watch.stop();
    co_return sum;
}

harness::measured measure_fork_pool(const harness::request& r, sub_task one_by_one) {
    const sub_task body = r.choice("mode", {"immediate", "final"}) == "immediate" ? one_by_one : burst;
    const std::uint64_t forks = r.integer("count") / r.threads();
    asio::thread_pool pool{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(pool, run_sub_tasks(body, r.threads(), forks, watch)); });
}

}  // namespace

harness::measured fork_pool(const harness::request& r) {
    return measure_fork_pool(r, immediate);
}

harness::measured fork_pool_expert(const harness::request& r) {
    return measure_fork_pool(r, in_place);
}

harness::measured spawn_join(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(pool, spawn_then_join(count, watch)); });
}

harness::measured memory_after(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    asio::thread_pool pool{r.threads()};
    return harness::measure_rest(r,
                                 [&](harness::stopwatch& watch) { return run(pool, spawn_then_join(count, watch)); });
}

harness::measured forks_of_a_crowd(const harness::request& r) {
    const harness::crowd crowd{r};
    asio::thread_pool pool{crowd.workers()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(pool, spawn_then_join(crowd.count(), watch)); });
}

}  // namespace lab
