// Who decides what happens next in a simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace coflux::testing {

/// What is to be decided.
enum class choice : std::uint8_t {
    next,   ///< which of the ready coroutines runs now: 0 is the one that has been ready longest
    steal,  ///< an awaited fork that has not begun: 0 its parent runs it in place, 1 another worker has taken it
    time,   ///< coroutines are ready and others sleep: 0 the ready go on, 1 time passes until the next sleeper is due
};

/// Decides. A run is determined by the answers: the same answers give the same run.
class chooser {
public:
    virtual ~chooser() = default;

    /// One of 0 … candidates.size() - 1, of which there are at least two. `candidates` are names of what may be chosen: for
    /// choice::next one number for each coroutine, the same as long as the coroutine lives.
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

/// Each candidate with the same probability; the same seed makes the same choices on every machine.
class random_chooser final : public chooser {
public:
    explicit random_chooser(std::uint64_t seed) noexcept : state_(seed) {}
    std::size_t choose(choice what, std::span<const std::uint64_t> candidates) noexcept override;

private:
    std::uint64_t state_;
};

}  // namespace coflux::testing
