// What happens in a world beside coroutines and timers: the seam that a simulated network fills.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <coflux/time/detail/timing_wheel.hpp>

namespace coflux::testing::detail {

/// Threads: that of its world.
class world_part {
public:
    world_part(const world_part&) = delete;
    world_part& operator=(const world_part&) = delete;

    /// Carries on what can go on without a decision on what is next. True if there was something; then it is to be
    /// called again.
    virtual bool settle() noexcept = 0;
    /// The earliest moment at which something may happen; it may have come. timing_wheel::never: there is none.
    [[nodiscard]] virtual coflux::detail::clock_tick next_event() const noexcept = 0;
    /// Appends the names of what may happen now.
    virtual void add_due(std::vector<std::uint64_t>& to) const = 0;
    /// What is called so happens. False if nothing of this part is.
    virtual bool happen(std::uint64_t name) noexcept = 0;
    /// Lines for a message; empty: nothing of it waits.
    [[nodiscard]] virtual std::string describe() const = 0;

protected:
    world_part() = default;
    ~world_part() = default;
};

}  // namespace coflux::testing::detail
