// Timers: a steady_timer in each coroutine.
#include "adapter.hpp"
#include "definitions.hpp"
#include "workloads.hpp"

#include <boost/asio/basic_waitable_timer.hpp>

#include <chrono>

namespace lab {
namespace {

using clock = harness::storm::clock;
using timer = asio::basic_waitable_timer<clock, asio::wait_traits<clock>, pool_executor>;

awaitable<std::uint64_t> sleeper(pool_executor pool, std::chrono::microseconds length) {
    const clock::time_point began = clock::now();
    timer alarm{pool, length};
    co_await alarm.async_wait(asio::deferred);
    co_return harness::storm::woke(began, length);
}

awaitable<std::uint64_t> run_storm(const harness::storm& storm, harness::stopwatch& watch) {
    const pool_executor pool = co_await asio::this_coro::executor;
    sum_of_children all{storm.sleepers()};
    watch.start();
    for (std::uint64_t i = 0; i < storm.sleepers(); ++i) {
        asio::co_spawn(pool, sleeper(pool, storm.length(i)), all.delivery());
    }
    const std::uint64_t sum = co_await all.wait();
    watch.stop();
    co_return sum;
}

}  // namespace

harness::measured timer_storm(const harness::request& r) {
    const harness::storm storm{r};
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(pool, run_storm(storm, watch)); });
}

}  // namespace lab
