// Makers that several of these tests hand to a suite.
#pragma once

#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

namespace coflux_test {

template <typename Subject>
struct fresh {
    Subject operator()() const { return Subject(); }
};

/// An executor with the world that it lives in.
struct simulated {
    static constexpr bool one_thread_only = true;
    coflux::testing::random_chooser random{7};
    coflux::testing::simulation sim{random};
    coflux::testing::sim_executor on{sim};

    coflux::testing::sim_executor& executor() noexcept { return on; }
    void drive() { sim.run(); }
};

}  // namespace coflux_test
