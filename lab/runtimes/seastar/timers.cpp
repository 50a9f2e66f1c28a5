// Timers of shards.
#include "definitions.hpp"
#include "loads.hpp"
#include "seed_work.hpp"
#include "workloads.hpp"

#include <seastar/core/loop.hh>
#include <seastar/core/map_reduce.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/smp.hh>

#include <functional>
#include <ranges>
#include <string>
#include <vector>

namespace lab {
namespace {

using clock = harness::storm::clock;

ss::future<std::uint64_t> sleeper(std::chrono::microseconds length) {
    const clock::time_point began = clock::now();
    co_await ss::sleep(length);
    co_return harness::storm::woke(began, length);
}

// Those of this shard: every smp::count-th, which it makes itself.
ss::future<std::uint64_t> sleepers_here(const harness::storm& storm) {
    std::uint64_t sum = 0;
    const std::uint64_t first = ss::this_shard_id();
    const std::uint64_t mine = (storm.sleepers() + ss::smp::count - 1 - first) / ss::smp::count;
    co_await ss::parallel_for_each(std::views::iota(std::uint64_t{0}, mine), [&](std::uint64_t i) {
        return sleeper(storm.length(first + i * ss::smp::count)).then([&sum](std::uint64_t slept) { sum += slept; });
    });
    co_return sum;
}

ss::future<std::uint64_t> idler(harness::idlers& all) {
    const auto began = all.falls_asleep();
    co_await ss::sleep(all.length());
    co_return all.wakes(began);
}

// One on each shard in turn.
ss::future<std::uint64_t> run_idlers(harness::idlers& all, harness::stopwatch& watch) {
    all.spawning(watch);
    std::vector<ss::future<std::uint64_t>> sleepers;
    sleepers.reserve(all.count());
    for (std::uint64_t i = 0; i < all.count(); ++i) {
        sleepers.push_back(
            ss::smp::submit_to(static_cast<unsigned>(i % ss::smp::count), [&all] { return idler(all); }));
    }
    while (!all.all_sleep()) {
        co_await ss::sleep(harness::idlers::look);
    }
    all.sleeping(watch);
    std::uint64_t sum = 0;
    for (auto& each : sleepers) {
        sum += co_await std::move(each);
    }
    co_return all.answer(sum);
}

ss::future<std::uint64_t> run_storm(const harness::storm& storm, harness::stopwatch& watch) {
    watch.start();
    const std::uint64_t sum = co_await ss::map_reduce(
        ss::smp::all_cpus(),
        [&storm](unsigned shard) { return ss::smp::submit_to(shard, [&storm] { return sleepers_here(storm); }); },
        std::uint64_t{0}, std::plus<std::uint64_t>{});
    watch.stop();
    co_return sum;
}

ss::future<std::uint64_t> run_waits(std::uint64_t count, std::chrono::microseconds length, harness::stopwatch& watch) {
    std::uint64_t sum = 0;
    watch.start();
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto began = harness::wait_clock::now();
        co_await ss::sleep(length);
        sum += harness::waited(began, length);
    }
    watch.stop();
    co_return sum;
}

}  // namespace

harness::measured timer_storm(const harness::request& r, waiting how) {
    const harness::storm storm{r};
    return measure_on(
        r.threads(), how, r, [&storm](harness::stopwatch& watch) { return run_storm(storm, watch); }, storm.sleepers());
}

harness::measured idle_tasks(const harness::request& r, waiting how) {
    harness::idlers all{r};
    return on_shards(
        r.threads(), how,
        [&all]() -> ss::future<harness::measured> {
            harness::stopwatch watch;
            const std::uint64_t answer = co_await run_idlers(all, watch);
            co_return watch.result(answer);
        },
        all.count());
}

harness::measured wait(const harness::request& r, waiting how) {
    const std::uint64_t count = r.integer("count");
    const std::chrono::microseconds length{r.integer("wait_us")};
    if (r.choice("idiom", {"timer", "devzero"}) == "devzero") {
        throw harness::unsupported_params("std has it: the thread reads, and nothing of a runtime is in it");
    }
    return measure_on(1, how, r,
                      [count, length](harness::stopwatch& watch) { return run_waits(count, length, watch); });
}

}  // namespace lab
