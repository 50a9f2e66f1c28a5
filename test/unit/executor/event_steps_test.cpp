// Whether completed operations are worth another worker's wake-up.
#include "../../../src/executor/pool/event_steps.hpp"

#include <cstddef>

#include <gtest/gtest.h>

#include "../../../src/event/look_portion.hpp"

namespace {

using coflux::detail::clock_tick;
using coflux::detail::event_steps;

void run(event_steps& steps, int times, std::size_t found, clock_tick took) {
    for (int i = 0; i < times; ++i) {
        steps.begin(1'000, found);
        steps.end(1'000 + took);
    }
}

TEST(event_steps, are_worth_a_wake_by_their_number_until_one_is_measured) {
    const event_steps steps;
    EXPECT_FALSE(steps.are_worth_a_wake(7));
    EXPECT_TRUE(steps.are_worth_a_wake(8));
}

TEST(event_steps, come_near_what_one_takes) {
    event_steps steps;
    run(steps, 100, 20, 20 * 4'000);
    EXPECT_GT(steps.one(), 3'500U);
    EXPECT_LT(steps.one(), 4'500U);
    EXPECT_FALSE(steps.are_worth_a_wake(20)) << "80 us are done sooner than a worker is awake and warm";
    EXPECT_TRUE(steps.are_worth_a_wake(64));
    run(steps, 200, 1, 150'000);
    EXPECT_TRUE(steps.are_worth_a_wake(2));
}

TEST(event_steps, do_not_grow_by_what_a_lost_processor_takes_now_and_then) {
    event_steps steps;
    for (int i = 0; i < 100; ++i) {
        run(steps, 5, 20, 20 * 4'000);
        run(steps, 1, 20, 3'000'000);
    }
    EXPECT_LT(steps.one(), 5'000U);
}

TEST(event_steps, count_what_is_found_on_the_way) {
    event_steps steps;
    for (int i = 0; i < 100; ++i) {
        steps.begin(0, 1);
        steps.add(9);
        steps.end(10 * 2'000);
    }
    EXPECT_LT(steps.one(), 2'500U);
}

TEST(event_steps, measure_nothing_where_other_work_was_found) {
    event_steps steps;
    for (int i = 0; i < 100; ++i) {
        steps.begin(0, 0);
        steps.add(1);
        steps.end(10);
    }
    EXPECT_EQ(steps.one(), event_steps::first);
}

TEST(event_steps, measure_from_where_something_was_found_until_there_is_nothing_to_do) {
    event_steps steps;
    EXPECT_FALSE(steps.measures());
    steps.begin(1'000, 3);
    EXPECT_TRUE(steps.measures());
    steps.end(2'000);
    EXPECT_FALSE(steps.measures());
}

TEST(event_steps, are_worth_a_wake_where_look_after_look_is_full) {
    event_steps steps;
    run(steps, 200, 48, 48 * 1'000);
    EXPECT_FALSE(steps.are_worth_a_wake(48));
    for (int i = 0; i < 4; ++i) steps.looked(48, 48);
    EXPECT_TRUE(steps.are_worth_a_wake(48)) << "as much comes behind";
    steps.looked(47, 48);
    EXPECT_FALSE(steps.are_worth_a_wake(48)) << "that was all";
}

TEST(event_steps, of_a_look_are_fewer_the_more_is_queued_and_never_none) {
    using coflux::detail::most_in_a_look;
    EXPECT_EQ(most_in_a_look(0), 48U);
    EXPECT_EQ(most_in_a_look(20), 28U);
    EXPECT_EQ(most_in_a_look(48), 4U);
    EXPECT_EQ(most_in_a_look(10'000), 4U);
}

TEST(event_steps, become_long_ones_after_the_shortest) {
    event_steps steps;
    run(steps, 1'000, 1, 0);
    EXPECT_FALSE(steps.are_worth_a_wake(1'000));
    run(steps, 200, 1, 1'000'000'000);
    EXPECT_TRUE(steps.are_worth_a_wake(1));
}

}  // namespace
