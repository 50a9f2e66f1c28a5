// A root that runs some forks at once: what the plain and the expert dress of bursts and chains share.
// Idioms: docs/tour/00-if-you-know.md
#pragma once

#include "harness.hpp"

#include <coflux/coflux.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace lab {

using pool = coflux::thread_pool_executor;
using forked = coflux::fork<std::uint64_t, pool>;
using watch_ref = coflux::borrowed<harness::stopwatch>;

/// Runs what `make` forks, `tasks` times at once, and sums the results.
coflux::task<std::uint64_t, pool> sum_of(auto&&, std::uint64_t tasks, auto make, watch_ref watch) {
    auto&& here = co_await coflux::context();
    std::vector<forked> all;
    all.reserve(tasks);
    watch->start();
    for (std::uint64_t t = 0; t < tasks; ++t) {
        all.push_back(make(here));
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t s : co_await coflux::when_all(std::move(all))) {
        sum += s;
    }
    watch->stop();
    co_return sum;
}

template <typename Make>
harness::measured measure_tasks(const harness::request& r, std::uint64_t tasks, Make make) {
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return sum_of(env, tasks, make, coflux::borrowed(watch)).get(); });
}

}  // namespace lab
