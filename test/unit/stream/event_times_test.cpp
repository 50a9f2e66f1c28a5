#include <coflux/stream/event_times.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

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

}  // namespace
