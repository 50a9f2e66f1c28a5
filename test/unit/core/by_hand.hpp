// A manual executor with what its coroutines wait for and where they write what happened.
#pragma once

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/executors.hpp"
#include "support/foreign_event.hpp"
#include "support/witness.hpp"

namespace coflux_test {

using root_by_hand = coflux::task<void, manual_executor>;

struct by_hand {
    manual_executor executor;
    foreign_event go;
    journal log;
    decltype(coflux::make_environment(executor)) env = coflux::make_environment(executor);

    /// Runs until no coroutine is ready, sets `go`, and runs what that wakes.
    void play() {
        executor.run_all();
        go.set();
        executor.run_all();
    }
    /// Plays `root`, which must have ended then; throws what it throws.
    void play(root_by_hand root) {
        play();
        ASSERT_TRUE(root.done());
        root.join();
    }
};

}  // namespace coflux_test
