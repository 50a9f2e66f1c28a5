// A test of sockets, run on a simulated network as it is.
#pragma once

#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/sim_network.hpp>

namespace coflux_test {

/// `body(environment)`, in the order of one worker, and in twenty random ones.
template <typename F>
void in_each_simulation(const F& body) {
    for (std::uint64_t seed = 0; seed != 21; ++seed) {
        coflux::testing::fifo_chooser fifo;
        coflux::testing::random_chooser random(seed);
        coflux::testing::chooser& decides = seed == 0 ? static_cast<coflux::testing::chooser&>(fifo) : random;
        coflux::testing::simulation sim(decides);
        // As on the loopback of this machine.
        const coflux::testing::sim_network net(sim, {.short_moves = false, .reorders = false});
        coflux::testing::sim_executor on;
        auto env = coflux::make_environment(on);
        body(env);
        EXPECT_EQ(net.open_sockets(), 0U) << "seed " << seed;
    }
}
/// `program` makes a task of an environment.
template <typename F>
void in_simulations(const F& program) {
    in_each_simulation([&](coflux::environment& env) { program(env).get(); });
}
/// The same, of a task that gives `result`.
template <typename F, typename T>
void in_simulations(const F& program, const T& result) {
    in_each_simulation([&](coflux::environment& env) { EXPECT_EQ(program(env).get(), result); });
}

}  // namespace coflux_test
