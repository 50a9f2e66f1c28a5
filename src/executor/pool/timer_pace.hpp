// How often a worker that has work reads the clock for its timers.
#pragma once

#include <algorithm>
#include <cstdint>

#include <coflux/time/clock.hpp>

namespace coflux::detail {

/// The policy of a worker, without a clock: the caller passes the time, and cycles_now(). One thread.
///
/// A processor counts at least one cycle in a nanosecond. So as long as fewer cycles have passed since the last look than
/// there were nanoseconds to the next deadline then, that has not come. A limit that does not fire costs no reading of the
/// clock at each turn.
class timer_pace {
public:
    /// After so many cycles the clock is read in any case: 22 us at 3 GHz. It bounds how late a timer is where cycles
    /// are longer.
    static constexpr std::uint64_t longest = 65'536;

    /// True if the caller should read the clock, look at its timers, and call looked().
    [[nodiscard]] bool wants_a_look(clock_tick deadline, std::uint64_t cycles) const noexcept {
        const clock_tick left = deadline - std::min(deadline, looked_at_);
        return cycles - looked_at_cycle_ >= std::min(left, longest);
    }
    /// Pre: `cycles` were counted before the clock was read.
    void looked(clock_tick now, std::uint64_t cycles) noexcept {
        looked_at_ = now;
        looked_at_cycle_ = cycles;
    }

private:
    clock_tick looked_at_ = 0;
    std::uint64_t looked_at_cycle_ = 0;
};

}  // namespace coflux::detail
