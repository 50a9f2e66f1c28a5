// The seam for clocks, and the clock that sleeps and deadlines follow: steady time as a number of nanoseconds. Deadlines are rounded up, the present is not rounded: nothing
// is early.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <coflux/core/thread_driver.hpp>
#include <coflux/core/thread_state.hpp>

namespace coflux::detail {

using steady_time = std::chrono::steady_clock::time_point;
static_assert(std::is_same_v<std::chrono::steady_clock::duration, std::chrono::nanoseconds>,
              "a tick of the timers is a tick of the clock");

/// Nanoseconds of the steady clock, as the timing wheel counts them.
using clock_tick = std::uint64_t;

[[nodiscard]] inline clock_tick tick_of(steady_time t) noexcept {
    const std::int64_t count = t.time_since_epoch().count();
    return count < 0 ? 0 : static_cast<clock_tick>(count);
}
[[nodiscard]] inline steady_time steady_now() noexcept {
    if (const thread_driver* const d = this_thread.driver) [[unlikely]]
        return steady_time(std::chrono::nanoseconds(d->now()));
    return std::chrono::steady_clock::now();
}
[[nodiscard]] inline clock_tick tick_now() noexcept {
    return tick_of(steady_now());
}

/// `d` in nanoseconds, rounded up; what is too long to be counted is the longest that can be.
template <typename Rep, typename Period>
[[nodiscard]] constexpr std::chrono::nanoseconds rounded_up(std::chrono::duration<Rep, Period> d) noexcept {
    using std::chrono::nanoseconds;
    using given = std::chrono::duration<Rep, Period>;
    if constexpr (std::is_floating_point_v<Rep>) {
        constexpr double limit = 9.2e18;  // below 2^63
        const double ns = std::chrono::duration<double, std::nano>(d).count();
        if (!(ns < limit)) return nanoseconds::max();
        if (ns < -limit) return nanoseconds::min();
    } else if constexpr (std::ratio_greater_v<Period, std::nano>) {
        if (d > std::chrono::duration_cast<given>(nanoseconds::max())) return nanoseconds::max();
        if (d < std::chrono::duration_cast<given>(nanoseconds::min())) return nanoseconds::min();
    }
    return std::chrono::ceil<nanoseconds>(d);
}

/// `from` + `d`, rounded up; at most the end of time, and `from` if `d` is not positive.
template <typename Rep, typename Period>
[[nodiscard]] constexpr steady_time later(steady_time from, std::chrono::duration<Rep, Period> d) noexcept {
    const std::chrono::nanoseconds ns = rounded_up(d);
    if (ns <= std::chrono::nanoseconds(0)) return from;
    if (from > steady_time::max() - ns) return steady_time::max();
    return from + ns;
}

/// The moment `t` of any clock on the steady clock, by what the two show now; later adjustments of the other clock are not
/// followed.
template <typename Clock, typename Duration>
[[nodiscard]] steady_time on_steady_clock(std::chrono::time_point<Clock, Duration> t) noexcept {
    if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
        return steady_time(rounded_up(t.time_since_epoch()));
    } else {
        // The other clock first: what passes between the two looks makes the result later, never earlier.
        const auto left = t - Clock::now();
        return later(steady_now(), left);
    }
}

}  // namespace coflux::detail

namespace coflux {

/// The clock that sleeps, timeouts and deadlines follow: std::chrono::steady_clock, and on the thread of a simulation the
/// simulation's. Code that is to be simulated asks it in place of the other.
///
/// Shapes: a Clock of std::chrono, whose moments are those of std::chrono::steady_clock. Costs: what steady_clock costs.
/// Threads: any.
struct clock {
    using duration = std::chrono::steady_clock::duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::steady_clock::time_point;
    static constexpr bool is_steady = true;

    [[nodiscard]] static time_point now() noexcept { return detail::steady_now(); }
};

}  // namespace coflux
