// Timers: a steady_timer in each coroutine.
#include "adapter.hpp"
#include "definitions.hpp"
#include "loads.hpp"
#include "workloads.hpp"

#include <boost/asio/basic_waitable_timer.hpp>

#include <chrono>

namespace lab {
namespace {

using clock = harness::storm::clock;
template <typename Executor>
using timer_on = asio::basic_waitable_timer<clock, asio::wait_traits<clock>, Executor>;
using timer = timer_on<pool_executor>;

template <typename Executor>
asio::awaitable<std::uint64_t, Executor> sleeper(Executor on, std::chrono::microseconds length) {
    const clock::time_point began = clock::now();
    timer_on<Executor> alarm{on, length};
    co_await alarm.async_wait(asio::deferred);
    co_return harness::storm::woke(began, length);
}

template <typename Executor>
asio::awaitable<std::uint64_t, Executor> run_storm(const harness::storm& storm, harness::stopwatch& watch) {
    const Executor on = co_await asio::this_coro::executor;
    sum_of_children_on<Executor> all{storm.sleepers()};
    watch.start();
    for (std::uint64_t i = 0; i < storm.sleepers(); ++i) {
        asio::co_spawn(on, sleeper(on, storm.length(i)), all.delivery());
    }
    const std::uint64_t sum = co_await all.wait();
    watch.stop();
    co_return sum;
}

awaitable<std::uint64_t> idler(pool_executor pool, harness::idlers& all) {
    const auto began = all.falls_asleep();
    timer alarm{pool, all.length()};
    co_await alarm.async_wait(asio::deferred);
    co_return all.wakes(began);
}

awaitable<std::uint64_t> run_idlers(harness::idlers& all, harness::stopwatch& watch) {
    const pool_executor pool = co_await asio::this_coro::executor;
    all.spawning(watch);
    sum_of_children sleepers{all.count()};
    for (std::uint64_t i = 0; i < all.count(); ++i) {
        asio::co_spawn(pool, idler(pool, all), sleepers.delivery());
    }
    while (!all.all_sleep()) {
        timer pause{pool, harness::idlers::look};
        co_await pause.async_wait(asio::deferred);
    }
    all.sleeping(watch);
    const std::uint64_t sum = co_await sleepers.wait();
    co_return all.answer(sum);
}

}  // namespace

harness::measured idle_tasks(const harness::request& r) {
    harness::idlers all{r};
    asio::thread_pool pool{r.threads()};
    return harness::measure_once([&](harness::stopwatch& watch) { return run(pool, run_idlers(all, watch)); });
}

harness::measured timer_storm(const harness::request& r) {
    const harness::storm storm{r};
    asio::thread_pool pool{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(pool, run_storm<pool_executor>(storm, watch)); });
}

harness::measured timer_storm_expert(const harness::request& r) {
    const harness::storm storm{r};
    return measure_on_one_thread(r, [&](harness::stopwatch& watch) { return run_storm<loop_executor>(storm, watch); });
}

}  // namespace lab
