// A stop request at one point of a run.
#pragma once

#include <coroutine>
#include <cstddef>

#include <coflux/testing/simulation.hpp>

namespace coflux_simulations {

/// In one run in `world`, which outlives it, a stop of the root's environment is requested before the n-th resumption.
class stop_injection {
public:
    stop_injection(coflux::testing::simulation& world, std::size_t at);
    stop_injection(const stop_injection&) = delete;
    stop_injection& operator=(const stop_injection&) = delete;
    ~stop_injection();

    /// True once the point has been reached.
    [[nodiscard]] bool fired() const noexcept { return fired_; }

    /// The simulated pool was given `h`: the way to the environment that is to be stopped.
    static void scheduled(std::coroutine_handle<> h) noexcept;

private:
    coflux::testing::simulation& world_;
    std::size_t left_;
    bool fired_ = false;
};

}  // namespace coflux_simulations
