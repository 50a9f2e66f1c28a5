#include <coflux/testing/pct_chooser.hpp>

#include <algorithm>

#include <coflux/base/assert.hpp>

namespace coflux::testing {

namespace {

/// Priorities that were never lowered are above it, lowered ones below.
constexpr std::uint64_t never_lowered = std::uint64_t{1} << 63;

}  // namespace

void pct_chooser::restart(std::uint64_t seed, std::size_t depth, std::size_t expected_decisions) {
    COFLUX_VERIFY(depth != 0 && expected_decisions != 0, "a pct_chooser of depth %zu for %zu decisions", depth,
                  expected_decisions);
    numbers_ = random_numbers(seed);
    made_ = 0;
    next_change_ = 0;
    priorities_.clear();
    changes_.clear();
    for (std::size_t i = 1; i < depth; ++i) changes_.push_back(numbers_.below(expected_decisions));
    std::sort(changes_.begin(), changes_.end());
}

std::uint64_t& pct_chooser::priority_of(std::uint64_t name) noexcept {
    if (name >= priorities_.size()) priorities_.resize(static_cast<std::size_t>(name) + 1);
    std::uint64_t& p = priorities_[static_cast<std::size_t>(name)];
    if (p == 0) p = numbers_.next() | never_lowered;
    return p;
}

std::size_t pct_chooser::highest(std::span<const std::uint64_t> candidates) noexcept {
    std::size_t best = 0;
    std::uint64_t best_priority = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const std::uint64_t p = priority_of(candidates[i]);
        if (p > best_priority) {
            best = i;
            best_priority = p;
        }
    }
    return best;
}

std::size_t pct_chooser::choose(choice what, std::span<const std::uint64_t> candidates) noexcept {
    switch (what) {
    case choice::steal: return numbers_.below(2);
    case choice::time: return numbers_.below(8) == 0 ? 1 : 0;
    case choice::amount: return numbers_.below(2) == 0 ? 0 : numbers_.below(candidates.size());
    case choice::fault: return numbers_.below(8) == 0 ? 1 + numbers_.below(candidates.size() - 1) : 0;
    case choice::next: break;
    }
    const std::size_t now = made_++;
    std::size_t chosen = highest(candidates);
    while (next_change_ < changes_.size() && changes_[next_change_] == now) {
        // The later it is lowered, the higher it stays among the lowered.
        priority_of(candidates[chosen]) = ++next_change_;
        chosen = highest(candidates);
    }
    return chosen;
}

}  // namespace coflux::testing
