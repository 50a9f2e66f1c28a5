// Timers: coroutines that sleep.
#include "definitions.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;

coflux::fork<std::uint64_t, pool> sleeper(auto&&, std::chrono::microseconds length) {
    const auto began = harness::storm::clock::now();
    co_await coflux::sleep_for(length);
    co_return harness::storm::woke(began, length);
}

coflux::task<std::uint64_t, pool> run_storm(auto&&, harness::storm storm, coflux::borrowed<harness::stopwatch> watch) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::uint64_t, pool>> all;
    all.reserve(storm.sleepers());
    watch->start();
    for (std::uint64_t i = 0; i < storm.sleepers(); ++i) {
        all.push_back(sleeper(here, storm.length(i)));
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t s : co_await coflux::when_all(std::move(all))) {
        sum += s;
    }
    watch->stop();
    co_return sum;
}

}  // namespace

harness::measured timer_storm(const harness::request& r) {
    const harness::storm storm{r};
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run_storm(env, storm, coflux::borrowed(watch)).get(); });
}

}  // namespace lab
