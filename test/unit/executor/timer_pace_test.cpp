// How often a worker that has work reads the clock for its timers.
#include "../../../src/executor/pool/timer_pace.hpp"

#include <cstdint>

#include <gtest/gtest.h>

namespace {

using coflux::detail::timer_pace;

constexpr std::uint64_t hour = 3'600'000'000'000;

TEST(timer_pace, looks_when_a_deadline_may_have_come) {
    timer_pace pace;
    pace.looked(1'000, 50);
    EXPECT_FALSE(pace.wants_a_look(3'000, 50 + 1'999));
    EXPECT_TRUE(pace.wants_a_look(3'000, 50 + 2'000));
}

TEST(timer_pace, looks_at_once_for_what_had_come_and_was_not_handed_out) {
    timer_pace pace;
    pace.looked(1'000, 50);
    EXPECT_TRUE(pace.wants_a_look(1'000, 50));
    EXPECT_TRUE(pace.wants_a_look(900, 50));
}

TEST(timer_pace, looks_within_a_bound_however_far_the_deadline_is) {
    timer_pace pace;
    pace.looked(1'000, 50);
    EXPECT_FALSE(pace.wants_a_look(hour, 50 + timer_pace::longest - 1));
    EXPECT_TRUE(pace.wants_a_look(hour, 50 + timer_pace::longest));
}

TEST(timer_pace, looks_where_the_count_went_back) {
    timer_pace pace;
    pace.looked(1'000, 5'000'000);
    EXPECT_TRUE(pace.wants_a_look(hour, 4'999'999));
}

TEST(timer_pace, looks_at_first) {
    EXPECT_TRUE(timer_pace().wants_a_look(hour, timer_pace::longest));
}

}  // namespace
