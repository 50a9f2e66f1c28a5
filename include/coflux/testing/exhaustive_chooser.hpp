// Every schedule, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <coflux/testing/chooser.hpp>

namespace coflux::testing {

/// Goes through all schedules depth first: the first run is FIFO, each further one differs from the run before in the
/// last decision that has a candidate left. With a bound, only the schedules in which at most so many decisions differ
/// from FIFO.
///
///     exhaustive_chooser all(100'000);
///     while (all.next_run()) { simulation sim(all); … }
///     all.exhausted();  // true: there is no other schedule within the bound
///
/// Shapes: each run is a simulation of its own, of one program, which behaves alike after equal decisions; checked as
/// far as the number of candidates shows it.
/// Costs: a few words for each decision of a run.
/// Source: Godefroid, "Model checking for programming languages using VeriSoft", POPL 1997 (search without stored
/// states); the bound: Emmi, Qadeer, Rakamarić, "Delay-bounded scheduling", POPL 2011, with decisions in place of
/// delays.
class exhaustive_chooser final : public chooser {
public:
    static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

    explicit exhaustive_chooser(std::size_t budget, std::size_t deviations = unbounded) noexcept
        : budget_(budget),
          bound_(deviations) {}

    /// The next run begins. False if there is none, or the budget is used up.
    [[nodiscard]] bool next_run() noexcept;
    /// Runs that were begun.
    [[nodiscard]] std::size_t runs() const noexcept { return runs_; }
    /// True once next_run() has found that every schedule within the bound was run.
    [[nodiscard]] bool exhausted() const noexcept { return exhausted_; }

    std::size_t choose(choice what, std::span<const std::uint64_t> candidates) noexcept override;

private:
    struct branch {
        choice what;
        std::uint32_t chosen;
        std::uint32_t of;
    };

    std::size_t budget_;
    std::size_t bound_;
    std::size_t runs_ = 0;
    bool exhausted_ = false;
    std::vector<branch> path_;    // the decisions of the last run; of this one up to at_
    std::size_t at_ = 0;          // decisions of this run so far
    std::size_t deviations_ = 0;  // of path_ with chosen != 0
};

}  // namespace coflux::testing
