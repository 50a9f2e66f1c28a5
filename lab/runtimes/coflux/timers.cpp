// Timers: coroutines that sleep.
// Idioms: docs/tour/01-first-program.md
#include "definitions.hpp"
#include "executors.hpp"
#include "loads.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace lab {
namespace {

template <typename On>
coflux::fork<std::uint64_t, On> sleeper(auto&&, std::chrono::microseconds length) {
    const auto began = harness::storm::clock::now();
    co_await coflux::sleep_for(length);
    co_return harness::storm::woke(began, length);
}

template <typename On>
coflux::task<std::uint64_t, On> run_storm(auto&&, harness::storm storm, coflux::borrowed<harness::stopwatch> watch) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::uint64_t, On>> all;
    all.reserve(storm.sleepers());
    watch->start();
    for (std::uint64_t i = 0; i < storm.sleepers(); ++i) {
        all.push_back(sleeper<On>(here, storm.length(i)));
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t s : co_await coflux::when_all(std::move(all))) {
        sum += s;
    }
    watch->stop();
    co_return sum;
}

coflux::fork<std::uint64_t, pool> idler(auto&&, coflux::borrowed<harness::idlers> all) {
    const auto began = all->falls_asleep();
    co_await coflux::sleep_for(all->length());
    co_return all->wakes(began);
}

coflux::task<std::uint64_t, pool> run_idlers(auto&&, coflux::borrowed<harness::idlers> all,
                                             coflux::borrowed<harness::stopwatch> watch) {
    auto&& here = co_await coflux::context();
    all->spawning(*watch);
    std::vector<coflux::fork<std::uint64_t, pool>> forks;
    forks.reserve(all->count());
    for (std::uint64_t i = 0; i < all->count(); ++i) {
        forks.push_back(idler(here, all));
    }
    while (!all->all_sleep()) {
        co_await coflux::sleep_for(harness::idlers::look);
    }
    all->sleeping(*watch);
    std::uint64_t sum = 0;
    for (const std::uint64_t s : co_await coflux::when_all(std::move(forks))) {
        sum += s;
    }
    co_return all->answer(sum);
}

template <typename On>
harness::measured storm_on(const harness::request& r) {
    const harness::storm storm{r};
    auto threads = make_executor<On>(r);
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run_storm<On>(env, storm, coflux::borrowed(watch)).get(); });
}

}  // namespace

harness::measured idle_tasks(const harness::request& r) {
    harness::idlers all{r};
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure_once([&](harness::stopwatch& watch) {
        return run_idlers(env, coflux::borrowed(all), coflux::borrowed(watch)).get();
    });
}

harness::measured timer_storm(const harness::request& r) {
    return storm_on<pool>(r);
}

harness::measured timer_storm_expert(const harness::request& r) {
    return storm_on<serial>(r);
}

}  // namespace lab
