// Which schedule a seed means, and how one that fails is made shorter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <coflux/testing/chooser.hpp>
#include <coflux/testing/simulation.hpp>

namespace coflux_simulations {

/// The choices of a seed. Three quarters of the seeds choose evenly; the rest mostly keeps the order in which
/// coroutines became ready, and leaves it at few decisions: for faults that need one coroutine to be far behind all
/// other ones.
class seeded_chooser final : public coflux::testing::chooser {
public:
    explicit seeded_chooser(std::uint64_t seed) noexcept : random_(seed), mostly_first_(seed % 4 == 3) {}
    std::size_t choose(coflux::testing::choice what, std::span<const std::uint64_t> candidates) noexcept override;

private:
    coflux::testing::random_chooser random_;
    bool mostly_first_;
};

/// The text of a run that fails; empty if it does not.
using failure = std::string;
using schedule = std::vector<coflux::testing::decision>;
using runs_with = std::function<failure(coflux::testing::chooser&, schedule& made)>;

/// Leaves out of a failing schedule what the failure does not need: decisions become 0, "the one that waits longest".
/// Returns the decisions that are left, as text.
std::string shrunk(const runs_with& run, schedule failing);

}  // namespace coflux_simulations
