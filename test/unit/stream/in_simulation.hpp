// in_simulation: a job on one simulated thread, in virtual time, with many schedules.
#pragma once

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/sim_executor.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace stream_test {

/// Runs `block(here)` as a root in each of `runs` simulations.
template <typename Block>
void in_simulation(Block block, std::size_t runs = 50) {
    using coflux::testing::sim_executor;
    const auto r = coflux::testing::explore({.runs = runs}, [&](coflux::testing::simulation&) {
        sim_executor on;
        auto env = coflux::make_environment(on);
        constexpr auto root = [](coflux::environment&, coflux::borrowed<Block> b) -> coflux::task<void, sim_executor> {
            auto& here = co_await coflux::context();
            co_await (*b)(here);
        };
        root(env, coflux::borrowed(block)).get();
    });
    EXPECT_TRUE(r.ok()) << r.report();
}

}  // namespace stream_test
