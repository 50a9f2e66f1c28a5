// Timers: coroutines that sleep by Folly's timekeeper, which has one thread for all of them.
#include "adapter.hpp"
#include "definitions.hpp"
#include "loads.hpp"
#include "seed_work.hpp"
#include "workloads.hpp"

#include <folly/coro/AsyncScope.h>
#include <folly/coro/Sleep.h>

#include <atomic>
#include <chrono>

namespace lab {
namespace {

using clock = harness::storm::clock;

task<std::uint64_t> sleeper(std::chrono::microseconds length) {
    const clock::time_point began = clock::now();
    co_await coro::sleep(length);
    co_return harness::storm::woke(began, length);
}

task<std::uint64_t> run_storm(pool& threads, const harness::storm& storm, harness::stopwatch& watch) {
    std::vector<forked<std::uint64_t>> all;
    all.reserve(storm.sleepers());
    watch.start();
    for (std::uint64_t i = 0; i < storm.sleepers(); ++i) {
        all.push_back(fork_to(threads, sleeper(storm.length(i))));
    }
    const std::uint64_t sum = sum_of_all(co_await coro::collectAllRange(std::move(all)));
    watch.stop();
    co_return sum;
}

task<void> idler(harness::idlers& all, std::atomic<std::uint64_t>& sum) {
    const auto began = all.falls_asleep();
    co_await coro::sleep(all.length());
    sum.fetch_add(all.wakes(began), std::memory_order_relaxed);  // published by the end of the scope
}

task<std::uint64_t> run_idlers(pool& threads, harness::idlers& all, harness::stopwatch& watch) {
    all.spawning(watch);
    std::atomic<std::uint64_t> sum{0};
    coro::AsyncScope sleepers;
    for (std::uint64_t i = 0; i < all.count(); ++i) {
        sleepers.add(fork_to(threads, idler(all, sum)));
    }
    while (!all.all_sleep()) {
        co_await coro::sleep(harness::idlers::look);
    }
    all.sleeping(watch);
    co_await sleepers.joinAsync();
    co_return all.answer(sum.load(std::memory_order_relaxed));
}

task<std::uint64_t> run_waits(std::uint64_t count, std::chrono::microseconds length, harness::stopwatch& watch) {
    std::uint64_t sum = 0;
    watch.start();
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto began = harness::wait_clock::now();
        co_await coro::sleep(length);
        sum += harness::waited(began, length);
    }
    watch.stop();
    co_return sum;
}

}  // namespace

harness::measured timer_storm(const harness::request& r) {
    const harness::storm storm{r};
    pool threads{r.threads()};
    return harness::measure(r,
                            [&](harness::stopwatch& watch) { return run(threads, run_storm(threads, storm, watch)); });
}

harness::measured idle_tasks(const harness::request& r) {
    harness::idlers all{r};
    pool threads{r.threads()};
    return harness::measure_once(
        [&](harness::stopwatch& watch) { return run(threads, run_idlers(threads, all, watch)); });
}

harness::measured wait(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    const std::chrono::microseconds length{r.integer("wait_us")};
    if (r.choice("idiom", {"timer", "devzero"}) == "devzero") {
        throw harness::unsupported_params("std has it: the thread reads, and nothing of a runtime is in it");
    }
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return coro::blockingWait(run_waits(count, length, watch)); });
}

}  // namespace lab
