// An allocation that fails in a run of an example.
#pragma once

#include <cstddef>

namespace coflux_simulations {

/// In one run the n-th allocation fails: of those that the example makes and that the library makes for it, frames
/// included, not of those that the simulation makes. Nothing else is counted and nothing fails while there is no object
/// of this class.
class allocation_faults {
public:
    explicit allocation_faults(std::size_t at) noexcept;
    allocation_faults(const allocation_faults&) = delete;
    allocation_faults& operator=(const allocation_faults&) = delete;
    ~allocation_faults();

    /// True once it has failed.
    [[nodiscard]] static bool fired() noexcept;
    /// One more allocation: is it the one?
    [[nodiscard]] static bool fails() noexcept;

    /// Frames from the pool that are alive, where simulated_memory.cpp is linked.
    inline static std::size_t frames = 0;
};

/// While it lives, what is allocated is the simulation's.
class simulation_at_work {
public:
    simulation_at_work() noexcept { ++depth; }
    simulation_at_work(const simulation_at_work&) = delete;
    simulation_at_work& operator=(const simulation_at_work&) = delete;
    ~simulation_at_work() { --depth; }

    inline static int depth = 0;
};

/// While it lives, main() waits, and the simulation runs; what is allocated is its own unless a coroutine runs.
class main_waits {
public:
    main_waits() noexcept { ++depth; }
    main_waits(const main_waits&) = delete;
    main_waits& operator=(const main_waits&) = delete;
    ~main_waits() { --depth; }

    inline static int depth = 0;
};

}  // namespace coflux_simulations
