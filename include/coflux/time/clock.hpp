// The seam for clocks, and the clock that sleeps and deadlines follow: steady time as a number of nanoseconds.
// Deadlines are rounded up, the present is not rounded: nothing is early.
#pragma once

#include <chrono>
#include <cstdint>
#include <ratio>
#include <type_traits>

#include <coflux/core/detail/thread/thread_driver.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

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

/// Wide enough for the difference of any two counts of 64 bits, in any unit that std::ratio has.
__extension__ typedef __int128 wide_count;

/// `count` Periods in nanoseconds, rounded up. Beyond either end of what nanoseconds can count: that end.
template <typename Period>
[[nodiscard]] constexpr std::chrono::nanoseconds nanoseconds_of(wide_count count) noexcept {
    using std::chrono::nanoseconds;
    using unit = std::ratio_divide<Period, std::nano>;
    constexpr wide_count most = wide_count(nanoseconds::max().count()) * unit::den / unit::num;
    constexpr wide_count least = wide_count(nanoseconds::min().count()) * unit::den / unit::num;
    if (count > most) return nanoseconds::max();
    if (count < least) return nanoseconds::min();
    const wide_count scaled = count * unit::num;
    // A division rounds towards zero, which is up where it is negative.
    return nanoseconds(static_cast<std::int64_t>(scaled / unit::den + (scaled % unit::den > 0 ? 1 : 0)));
}

/// `d` in nanoseconds, rounded up; what is too long to be counted is the longest that can be.
template <typename Rep, typename Period>
[[nodiscard]] constexpr std::chrono::nanoseconds rounded_up(std::chrono::duration<Rep, Period> d) noexcept {
    using std::chrono::nanoseconds;
    if constexpr (std::is_integral_v<Rep>) {
        return nanoseconds_of<Period>(d.count());
    } else {
        constexpr double limit = 0x1p63;
        const double ns = std::chrono::duration<double, std::nano>(d).count();
        if (ns >= limit) return nanoseconds::max();
        if (ns < -limit) return nanoseconds::min();
        if (!(ns < limit)) return nanoseconds(0);  // no number: not positive
        const auto whole = static_cast<std::int64_t>(ns);
        return nanoseconds(whole + (static_cast<double>(whole) < ns ? 1 : 0));
    }
}

/// `to` - `from`, rounded up to nanoseconds: at most the end that it would be beyond. Both ends of a clock may be
/// farther apart than any duration counts, and the unit that two durations have in common may not hold either.
template <typename RepTo, typename To, typename RepFrom, typename From>
[[nodiscard]] constexpr std::chrono::nanoseconds nanoseconds_between(std::chrono::duration<RepFrom, From> from,
                                                                     std::chrono::duration<RepTo, To> to) noexcept {
    if constexpr (std::is_integral_v<RepTo> && std::is_integral_v<RepFrom>) {
        using common = typename std::common_type_t<std::chrono::duration<std::int64_t, To>,
                                                   std::chrono::duration<std::int64_t, From>>::period;
        // Each product is below 2^127: a count of 64 bits by a ratio of 63.
        return nanoseconds_of<common>(wide_count(to.count()) * std::ratio_divide<To, common>::num -
                                      wide_count(from.count()) * std::ratio_divide<From, common>::num);
    } else {
        return rounded_up(to - from);  // floating: it rounds, and does not overflow
    }
}

/// `from` + `d`, rounded up; at most the end of time, and `from` if `d` is not positive.
template <typename Rep, typename Period>
[[nodiscard]] constexpr steady_time later(steady_time from, std::chrono::duration<Rep, Period> d) noexcept {
    const std::chrono::nanoseconds ns = rounded_up(d);
    if (ns <= std::chrono::nanoseconds(0)) return from;
    if (from > steady_time::max() - ns) return steady_time::max();
    return from + ns;
}

/// The moment `t` of any clock on the steady clock, by what the two show now; later adjustments of the other clock are
/// not followed. A moment that the steady clock does not reach is the end of time; a moment that has passed is the
/// present.
template <typename Clock, typename Duration>
[[nodiscard]] steady_time on_steady_clock(std::chrono::time_point<Clock, Duration> t) noexcept {
    if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
        return steady_time(rounded_up(t.time_since_epoch()));
    } else {
        // The other clock first: what passes between the two looks makes the result later, never earlier.
        const auto there = Clock::now().time_since_epoch();
        return later(steady_now(), nanoseconds_between(there, t.time_since_epoch()));
    }
}

}  // namespace coflux::detail

namespace coflux {

/// The clock that sleeps, timeouts and deadlines follow: std::chrono::steady_clock, and on the thread of a simulation
/// the simulation's. Code that is to be simulated asks it in place of steady_clock.
///
/// Shapes: a Clock of std::chrono, whose moments are those of std::chrono::steady_clock.
/// Threads: any.
/// Costs: what steady_clock costs.
struct clock {
    using duration = std::chrono::steady_clock::duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::steady_clock::time_point;
    static constexpr bool is_steady = true;

    [[nodiscard]] static time_point now() noexcept { return detail::steady_now(); }
};

}  // namespace coflux
