#include <coflux/time/clock.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using coflux::detail::later;
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
    EXPECT_EQ(rounded_up(std::chrono::duration<double>(std::nan(""))), nanoseconds::max());
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

}  // namespace
