// chooser: decides what happens next in a simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace coflux::testing {

/// The kind of a decision.
enum class choice : std::uint8_t {
    next,    ///< what runs: timers that are due, then the ready coroutines, the one that has been ready longest first
    steal,   ///< an awaited fork that has not begun: 0 its parent runs it in place, 1 another worker has taken it
    time,    ///< coroutines are ready, and some sleep: 0 the ready go on, 1 time passes until the next sleeper is due
    amount,  ///< how many bytes a call on a simulated socket or file moves: 0 as many as it can; simulation::choose()
    fault,   ///< what goes wrong on a simulated network or disk: 0 nothing
};

/// One decision of a run.
struct decision {
    choice what;
    std::uint32_t chosen;
    std::uint32_t of;  ///< number of candidates

    friend bool operator==(const decision&, const decision&) = default;
};

/// Decides. A run is determined by the answers: the same answers give the same run, on every machine. 0 is what a pool
/// of one worker would do.
class chooser {
public:
    virtual ~chooser() = default;

    /// One of 0 … candidates.size() - 1, of which there are at least two. `candidates` are names of what may be chosen:
    /// for choice::next a number for each coroutine. It counts the coroutines of the run from 1 on, in the order in
    /// which they were first seen, stays with the coroutine as long as it lives and is given to no other. A call has
    /// the number of its caller.
    /// Threads: the simulation's. Not to be thrown from.
    virtual std::size_t choose(choice what, std::span<const std::uint64_t> candidates) noexcept = 0;

protected:
    chooser() = default;
    chooser(const chooser&) = default;
    chooser& operator=(const chooser&) = default;
};

/// The order in which they became ready, as on one worker.
class fifo_chooser final : public chooser {
public:
    std::size_t choose(choice, std::span<const std::uint64_t>) noexcept override { return 0; }
};

/// A sequence of numbers from a seed, the same on every machine.
///
/// Source: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) noexcept : state_(seed) {}
    [[nodiscard]] std::uint64_t next() noexcept;
    /// One of 0 … below - 1.
    /// Pre: 0 < below <= 2^32.
    [[nodiscard]] std::size_t below(std::size_t below) noexcept;

private:
    std::uint64_t state_;
};

/// Each candidate with the same probability; the same seed makes the same choices on every machine.
class random_chooser final : public chooser {
public:
    explicit random_chooser(std::uint64_t seed) noexcept : numbers_(seed) {}
    std::size_t choose(choice, std::span<const std::uint64_t> candidates) noexcept override {
        return numbers_.below(candidates.size());
    }

private:
    random_numbers numbers_;
};

}  // namespace coflux::testing
