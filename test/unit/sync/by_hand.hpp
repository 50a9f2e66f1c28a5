// The common part of the tests of this folder: an executor that the test drives, and coroutines that write down what
// happens.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/executors.hpp"
#include "support/witness.hpp"

namespace coflux_test {

using hand = manual_executor;
using pool = coflux::thread_pool_executor;
using lines = std::vector<std::string>;

/// An environment on an executor that runs only in drive().
struct by_hand {
    hand executor;
    decltype(coflux::make_environment(executor)) env = coflux::make_environment(executor);

    void drive() { executor.run_all(); }
};

}  // namespace coflux_test
