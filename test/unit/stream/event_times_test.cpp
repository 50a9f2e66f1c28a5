#include <coflux/stream/event_times.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ratio>
#include <stdexcept>

namespace {

namespace stream = coflux::stream;
using namespace std::chrono_literals;
using stream::event_time;
using stream::detail::watermarks;

constexpr event_time at(std::chrono::seconds s) {
    return event_time(s);
}

TEST(watermarks, are_the_least_of_all_partitions_less_the_lateness) {
    watermarks w(2s);
    EXPECT_EQ(w.now(), stream::no_time);
    w.note(0, at(10s));
    EXPECT_EQ(w.now(), at(8s));
    w.note(1, at(20s));
    w.note(0, at(30s));
    EXPECT_EQ(w.now(), at(18s));
}

TEST(watermarks, never_go_back) {
    watermarks w(0s);
    w.note(0, at(10s));
    EXPECT_EQ(w.now(), at(10s));
    w.note(0, at(5s));
    w.note(1, at(3s));
    EXPECT_EQ(w.now(), at(10s));
}

TEST(watermarks, are_not_held_by_an_idle_partition) {
    watermarks w(0s);
    w.note(0, at(10s));
    w.note(1, at(100s));
    EXPECT_EQ(w.now(), at(10s));
    EXPECT_TRUE(w.is_held());
    w.look_for_idle();  // both have given something
    EXPECT_EQ(w.now(), at(10s));
    w.note(1, at(110s));
    w.look_for_idle();
    EXPECT_EQ(w.now(), at(110s));
    EXPECT_FALSE(w.is_held());
    w.note(0, at(11s));  // it is back: late, and holds what comes
    w.note(1, at(200s));
    EXPECT_EQ(w.now(), at(110s));
}

TEST(watermarks, are_not_held_by_a_partition_that_has_ended) {
    watermarks w(0s);
    w.note(0, at(10s));
    w.note(1, at(100s));
    w.end(0);
    w.end(2);  // one that has given nothing
    EXPECT_EQ(w.now(), at(100s));
    EXPECT_FALSE(w.is_held());
    EXPECT_EQ(w.of(0), at(10s));
    w.end(1);
    EXPECT_EQ(w.now(), at(100s));
}

TEST(watermarks, are_the_latest_where_all_are_idle) {
    watermarks w(1s);
    EXPECT_EQ(w.now(), stream::no_time);
    w.note(0, at(10s));
    w.note(1, at(30s));
    w.look_for_idle();
    EXPECT_EQ(w.now(), at(9s));
    w.look_for_idle();
    EXPECT_EQ(w.now(), at(29s));
}

TEST(watermarks, saturate_at_the_beginning_of_time) {
    watermarks w(std::chrono::hours(24));
    w.note(0, stream::no_time + 1s);
    EXPECT_EQ(w.now(), stream::no_time);
}

TEST(watermarks, are_before_the_end_of_time_whatever_a_record_says) {
    for (const auto lateness : {0ns, 1ns, std::chrono::nanoseconds::max()}) {
        watermarks w(lateness);
        w.note(0, stream::end_of_time);
        EXPECT_LT(w.now(), stream::end_of_time);
        EXPECT_EQ(w.now(), std::min(stream::end_of_time - lateness, stream::end_of_time - 1ns));
    }
}

TEST(event_times, refuse_times_that_nanoseconds_do_not_have) {
    using namespace std::chrono;
    using stream::detail::event_time_of;
    EXPECT_EQ(event_time_of(sys_seconds(5s)), at(5s));
    EXPECT_EQ(event_time_of(sys_time<duration<double>>(duration<double>(-0.5))), event_time(-500ms));
    EXPECT_EQ(event_time_of(stream::end_of_time), stream::end_of_time);
    EXPECT_EQ(event_time_of(sys_time<duration<std::int64_t, std::pico>>(duration<std::int64_t, std::pico>::min())),
              event_time(std::chrono::nanoseconds(std::numeric_limits<std::int64_t>::min() / 1000)));
    for (const auto s : {sys_seconds::min(), sys_seconds::max(), sys_seconds(seconds(9'223'372'037))}) {
        EXPECT_THROW((void)event_time_of(s), std::out_of_range);
    }
    EXPECT_THROW((void)event_time_of(sys_days(year(2300) / 1 / 1)), std::out_of_range);
    EXPECT_THROW((void)event_time_of(sys_time<duration<double>>(duration<double>(std::nan("")))), std::out_of_range);
}

}  // namespace
