// Schedules that find a fault of a given depth with a stated probability.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <coflux/testing/chooser.hpp>

namespace coflux::testing {

/// Runs the coroutine with the highest of random priorities, and at `depth` - 1 random decisions gives the one that
/// would run a lower priority than all other coroutines have. A fault that needs `depth` orderings among n coroutines
/// in a run of k decisions is found with a probability of at least 1 / (n * k^(depth - 1)). Steals are drawn evenly;
/// late time (choice::time) once in eight.
///
/// Costs: a word for each coroutine of a run.
/// Pre: `depth` and `expected_decisions` are not 0; the latter is a guess at k.
/// Source: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A randomized scheduler with probabilistic guarantees of
/// finding bugs", ASPLOS 2010. Deviations: steps are decisions of choice::next; coroutines get their priorities when
/// they are first seen.
class pct_chooser final : public chooser {
public:
    pct_chooser(std::uint64_t seed, std::size_t depth, std::size_t expected_decisions) {
        restart(seed, depth, expected_decisions);
    }
    /// As if it were made anew; keeps its memory.
    void restart(std::uint64_t seed, std::size_t depth, std::size_t expected_decisions);

    std::size_t choose(choice what, std::span<const std::uint64_t> candidates) noexcept override;

private:
    [[nodiscard]] std::uint64_t& priority_of(std::uint64_t name) noexcept;
    [[nodiscard]] std::size_t highest(std::span<const std::uint64_t> candidates) noexcept;

    random_numbers numbers_{0};
    std::size_t made_ = 0;                   // decisions so far
    std::vector<std::size_t> changes_;       // at which a priority is lowered, ascending
    std::size_t next_change_ = 0;            // the first that has not come
    std::vector<std::uint64_t> priorities_;  // by name; 0: not seen yet
};

}  // namespace coflux::testing
