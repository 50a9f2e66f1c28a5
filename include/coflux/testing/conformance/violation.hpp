// The result of the conformance checks: the laws that a type does not keep.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace coflux::testing {

/// A law, by the name of its function, and what was seen instead.
struct violation {
    std::string law;
    std::string seen;
};
using violations = std::vector<violation>;

/// One line for each; empty for none.
[[nodiscard]] std::string to_string(const violations& all);

/// How hard a check looks.
struct conformance_options {
    /// How long something that must happen may take before it counts as lost. Far above what a slow machine needs: it
    /// passes only where a law is broken.
    std::chrono::milliseconds patience{20'000};
    std::size_t many = 2'000;  ///< handles at once, values through a channel, locks taken
    std::size_t threads = 3;   ///< threads that call at the same time
    std::size_t rounds = 100;  ///< repetitions of what is a race
};

}  // namespace coflux::testing
