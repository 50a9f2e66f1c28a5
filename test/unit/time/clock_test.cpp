#include <coflux/time/clock.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using coflux::detail::later;
using coflux::detail::nanoseconds_between;
using coflux::detail::on_steady_clock;
using coflux::detail::rounded_up;
using coflux::detail::steady_time;
using coflux::detail::tick_now;
using coflux::detail::tick_of;
using std::chrono::nanoseconds;
using picoseconds = std::chrono::duration<std::int64_t, std::pico>;
using years = std::chrono::duration<std::int64_t, std::ratio<31'556'952>>;

TEST(clock, rounds_durations_up_so_that_nothing_is_early) {
    EXPECT_EQ(rounded_up(picoseconds(1)), 1ns);
    EXPECT_EQ(rounded_up(picoseconds(1000)), 1ns);
    EXPECT_EQ(rounded_up(picoseconds(1001)), 2ns);
    EXPECT_EQ(rounded_up(picoseconds(-1)), 0ns);
    EXPECT_EQ(rounded_up(std::chrono::duration<double>(1.5e-9)), 2ns);
    EXPECT_EQ(rounded_up(std::chrono::duration<float, std::milli>(0.25F)), 250us);
    EXPECT_EQ(rounded_up(3h), 3h);
}

TEST(clock, takes_what_is_too_long_to_be_counted_for_the_longest) {
    EXPECT_EQ(rounded_up(years(1000)), nanoseconds::max());
    EXPECT_EQ(rounded_up(years::max()), nanoseconds::max());
    EXPECT_EQ(rounded_up(years::min()), nanoseconds::min());
    EXPECT_EQ(rounded_up(std::chrono::duration<double>(1e300)), nanoseconds::max());
    EXPECT_EQ(rounded_up(std::chrono::duration<double>(std::nan(""))), nanoseconds(0)) << "no number is not positive";
    EXPECT_EQ(rounded_up(std::chrono::duration<double>(-std::numeric_limits<double>::infinity())), nanoseconds::min());
}

TEST(clock, adds_up_to_the_end_of_time_and_no_further) {
    const steady_time from(100ns);
    EXPECT_EQ(later(from, 5ns), steady_time(105ns));
    EXPECT_EQ(later(from, picoseconds(1)), steady_time(101ns));
    EXPECT_EQ(later(from, 0ns), from);
    EXPECT_EQ(later(from, -5h), from);
    EXPECT_EQ(later(from, nanoseconds::max()), steady_time::max());
    EXPECT_EQ(later(from, years::max()), steady_time::max());
    EXPECT_EQ(tick_of(steady_time(-1ns)), 0U);
    EXPECT_EQ(tick_of(steady_time::max()), (std::uint64_t{1} << 63U) - 1);
}

TEST(clock, places_moments_of_other_clocks_not_too_early) {
    const auto before = tick_now();
    const auto wall = std::chrono::system_clock::now() + 1h;
    const steady_time there = on_steady_clock(wall);
    EXPECT_GE(tick_of(there), before + 3'600'000'000'000U);
    EXPECT_LE(there, std::chrono::steady_clock::now() + 1h);
    const steady_time past = on_steady_clock(std::chrono::system_clock::now() - 1h);
    EXPECT_LE(past, std::chrono::steady_clock::now());
    const auto coarse = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::steady_clock::now()) + 2s;
    EXPECT_EQ(on_steady_clock(coarse), coarse);
}

/// A clock that shows what the test sets.
template <typename Duration>
struct shown {
    using duration = Duration;
    using rep = typename Duration::rep;
    using period = typename Duration::period;
    using time_point = std::chrono::time_point<shown>;
    static constexpr bool is_steady = false;
    static inline Duration it{};
    static time_point now() { return time_point(it); }
};

/// Both ends of what a duration counts, and its middle.
template <typename Duration>
std::array<Duration, 5> ends() {
    const typename Duration::rep one = 1;
    return {Duration::min(), Duration(Duration::zero().count() - (std::is_signed_v<decltype(one)> ? one : 0)),
            Duration::zero(), Duration(one), Duration::max()};
}

/// In a type that overflows nowhere here; exact but for its last bits.
template <typename Duration>
long double in_ns(Duration d) {
    return std::chrono::duration<long double, std::nano>(d).count();
}
constexpr long double end_of_time = 0x7fff'ffff'ffff'ffffLL;

bool is_near(nanoseconds is, long double should) {
    const long double meant = std::clamp(should, -end_of_time, end_of_time);
    return std::fabs(static_cast<long double>(is.count()) - meant) <= 2 + std::fabs(meant) * 1e-7L;
}

template <typename Shows, typename Asked>
void agrees_at_the_ends() {
    for (const Shows from : ends<Shows>()) {
        shown<Shows>::it = from;
        for (const Asked to : ends<Asked>()) {
            const long double left = in_ns(to) - in_ns(from);
            EXPECT_TRUE(is_near(nanoseconds_between(from, to), left)) << in_ns(from) << " to " << in_ns(to);
            const auto before = std::chrono::steady_clock::now();
            const steady_time there = on_steady_clock(std::chrono::time_point<shown<Shows>, Asked>(to));
            const auto after = std::chrono::steady_clock::now();
            const long double least = in_ns(before.time_since_epoch()) + std::max(0.0L, left);
            const long double most = in_ns(after.time_since_epoch()) + std::max(0.0L, left);
            EXPECT_TRUE(is_near(there.time_since_epoch(), least) || is_near(there.time_since_epoch(), most) ||
                        (in_ns(there.time_since_epoch()) > least && in_ns(there.time_since_epoch()) < most))
                << in_ns(from) << " to " << in_ns(to) << " is at " << there.time_since_epoch().count();
        }
    }
}

template <typename Shows, typename... Asked>
void agree_at_the_ends() {
    (agrees_at_the_ends<Shows, Asked>(), ...);
}
template <typename... Durations>
void each_agrees_with_each() {
    (agree_at_the_ends<Durations, Durations...>(), ...);
}

TEST(clock, neither_end_of_any_clock_or_duration_overflows) {
    using namespace std::chrono;
    each_agrees_with_each<nanoseconds, seconds, hours, years, duration<std::int32_t, std::ratio<3600>>,
                          duration<std::uint64_t, std::milli>, duration<std::int64_t, std::ratio<1, 3>>>();
    each_agrees_with_each<picoseconds, nanoseconds, hours>();
    agree_at_the_ends<nanoseconds, duration<double>, duration<float, std::ratio<3600>>>();
    agree_at_the_ends<duration<double, std::ratio<86400>>, nanoseconds, hours, duration<double>>();
}

TEST(clock, durations_of_any_width_are_converted_at_both_ends) {
    using std::chrono::duration;
    EXPECT_EQ(rounded_up(duration<std::int32_t, std::ratio<3600>>::max()), nanoseconds::max());
    EXPECT_EQ(rounded_up(duration<std::int32_t>(3)), 3s);
    EXPECT_EQ(rounded_up(duration<std::int16_t>::min()), -32768s);
    EXPECT_EQ(rounded_up(duration<std::uint64_t, std::nano>::max()), nanoseconds::max());
    EXPECT_EQ(rounded_up(duration<std::uint64_t, std::pico>::max()), nanoseconds(18'446'744'073'709'552));
    EXPECT_EQ(rounded_up(picoseconds::min()), nanoseconds(-9'223'372'036'854'775));
    EXPECT_EQ(rounded_up(nanoseconds::min()), nanoseconds::min());
    EXPECT_EQ(rounded_up(duration<std::int64_t, std::ratio<1, 3>>(1)), 333'333'334ns);
}

TEST(clock, a_day_of_another_millennium_is_the_end_of_time_or_the_present) {
    using namespace std::chrono;
    const auto before = steady_clock::now();
    for (const auto t :
         {sys_seconds::max(), sys_seconds(sys_days(year(3000) / 1 / 1)), sys_seconds(sys_days(year(5138) / 1 / 1))})
        EXPECT_EQ(on_steady_clock(t), steady_time::max());
    for (const auto t : {sys_seconds::min(), sys_seconds(sys_days(year(1600) / 1 / 1)), sys_seconds()}) {
        const auto present = on_steady_clock(t);
        EXPECT_GE(present, before);
        EXPECT_LE(present, steady_clock::now());
    }
    EXPECT_EQ(on_steady_clock(time_point<system_clock, hours>::max()), steady_time::max());
    const auto of_the_first_hour = on_steady_clock(time_point<system_clock, hours>::min());
    EXPECT_LE(of_the_first_hour, steady_clock::now());
    EXPECT_GE(on_steady_clock(sys_days(year(2200) / 1 / 1)), before + hours(24 * 365 * 100));
    EXPECT_EQ(on_steady_clock(file_clock::time_point::max()), steady_time::max());
    const auto of_the_first_file = on_steady_clock(file_clock::time_point::min());
    EXPECT_LE(of_the_first_file, steady_clock::now());
}

}  // namespace
