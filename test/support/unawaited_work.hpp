// A child that nothing awaits, for tests of what a stop cut off.
#pragma once

#include <chrono>

#include <coflux/coflux.hpp>
#include <coflux/testing/sim_executor.hpp>

namespace coflux_test {

/// How long it works, and whether it has done its work.
struct work {
    std::chrono::milliseconds lasts{};
    bool done = false;
};
inline coflux::fork<void, coflux::testing::sim_executor> works(coflux::environment&, work* w) {
    co_await coflux::sleep_for(w->lasts);
    w->done = true;
}

}  // namespace coflux_test
