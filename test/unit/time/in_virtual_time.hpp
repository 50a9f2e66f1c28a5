// The common part of the tests of timer, rate_limiter and delay_queue: a world of virtual time, and what happened in it
// when.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

namespace coflux_test {

using coflux::testing::sim_executor;
using sim_fork = coflux::fork<void, sim_executor>;
using sim_task = coflux::task<void, sim_executor>;
using pool = coflux::thread_pool_executor;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// A simulation, and the moments of what happens in it, counted from its beginning.
struct virtual_time {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation sim{in_order};
    sim_executor executor;
    decltype(coflux::make_environment(executor)) env = coflux::make_environment(executor);
    std::vector<std::pair<std::string, nanoseconds>> log;

    [[nodiscard]] static coflux::clock::time_point begin() noexcept {
        return coflux::clock::time_point(std::chrono::seconds(1));
    }
    void write(std::string what) { log.emplace_back(std::move(what), sim.elapsed()); }
};

using moments = std::vector<std::pair<std::string, nanoseconds>>;

}  // namespace coflux_test
