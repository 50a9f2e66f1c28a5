// Forks on the pool: awaited at once, or joined as a burst.
#include "adapter.hpp"
#include "definitions.hpp"
#include "loads.hpp"
#include "workloads.hpp"

namespace lab {
namespace {

template <typename Executor>
counted<Executor> child(std::uint64_t i) {
    co_return i;
}

awaitable<std::uint64_t> immediate(std::uint64_t forks) {
    const pool_executor pool = co_await to_the_pool();
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < forks; ++i) {
        sum += co_await asio::co_spawn(pool, child<pool_executor>(i), use_awaitable);
    }
    co_return sum;
}

// A child that runs in its parent's place, and never goes through the queue.
template <typename Executor>
counted<Executor> in_place(std::uint64_t forks) {
    co_await to_the_queue_of<Executor>();
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < forks; ++i) {
        sum += co_await child<Executor>(i);
    }
    co_return sum;
}

template <typename Executor>
counted<Executor> burst(std::uint64_t forks) {
    const Executor on = co_await to_the_queue_of<Executor>();
    sum_of_children_on<Executor> all{forks};
    for (std::uint64_t i = 0; i < forks; ++i) {
        asio::co_spawn(on, child<Executor>(i), all.delivery());
    }
    co_return co_await all.wait();
}

template <typename Executor>
using sub_task = counted<Executor> (*)(std::uint64_t);

template <typename Executor>
counted<Executor> run_sub_tasks(sub_task<Executor> body, std::uint64_t sub_tasks, std::uint64_t forks,
                                harness::stopwatch& watch) {
    const Executor on = co_await asio::this_coro::executor;
    sum_of_children_on<Executor> all{sub_tasks};
    watch.start();
    for (std::uint64_t s = 0; s < sub_tasks; ++s) {
        asio::co_spawn(on, body(forks), all.delivery());
    }
    const std::uint64_t sum = co_await all.wait();
    watch.stop();
    co_return sum;
}

template <typename Executor>
counted<Executor> spawn_then_join(std::uint64_t count, harness::stopwatch& watch) {
    const Executor on = co_await asio::this_coro::executor;
    sum_of_children_on<Executor> all{count};
    watch.start();
    for (std::uint64_t i = 0; i < count; ++i) {
        asio::co_spawn(on, child<Executor>(i), all.delivery());
    }
    const std::uint64_t sum = co_await all.wait();
    watch.stop();
    co_return sum;
}

template <typename Executor>
harness::measured measure_fork_pool(const harness::request& r, sub_task<Executor> one_by_one) {
    const bool immediate = r.choice("mode", {"immediate", "final"}) == "immediate";
    const sub_task<Executor> body = immediate ? one_by_one : burst<Executor>;
    const std::uint64_t forks = r.integer("count") / r.threads();
    return measure_on<Executor>(
        r, [&, forks](harness::stopwatch& watch) { return run_sub_tasks<Executor>(body, r.threads(), forks, watch); });
}

}  // namespace

harness::measured fork_pool(const harness::request& r) {
    return measure_fork_pool<pool_executor>(r, immediate);
}

harness::measured fork_pool_expert(const harness::request& r) {
    return measure_fork_pool<pool_executor>(r, in_place<pool_executor>);
}

harness::measured fork_pool_on_one_thread(const harness::request& r) {
    return measure_fork_pool<loop_executor>(r, in_place<loop_executor>);
}

harness::measured spawn_join(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    return measure_on<pool_executor>(
        r, [count](harness::stopwatch& watch) { return spawn_then_join<pool_executor>(count, watch); });
}

harness::measured spawn_join_expert(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    return measure_on<loop_executor>(
        r, [count](harness::stopwatch& watch) { return spawn_then_join<loop_executor>(count, watch); });
}

harness::measured memory_after(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    asio::thread_pool pool{r.threads()};
    return harness::measure_rest(
        r, [&](harness::stopwatch& watch) { return run(pool, spawn_then_join<pool_executor>(count, watch)); });
}

harness::measured memory_after_expert(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    asio::io_context loop{1};
    return harness::measure_rest(
        r, [&](harness::stopwatch& watch) { return run(loop, spawn_then_join<loop_executor>(count, watch)); });
}

harness::measured forks_of_a_crowd(const harness::request& r) {
    const harness::crowd crowd{r};
    asio::thread_pool pool{crowd.workers()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(pool, spawn_then_join<pool_executor>(crowd.count(), watch)); });
}

}  // namespace lab
