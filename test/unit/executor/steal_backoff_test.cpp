// When a thief leaves its victims alone.
#include "../../../src/executor/pool/steal_backoff.hpp"

#include <cstdint>
#include <random>

#include <gtest/gtest.h>

namespace {

using coflux::detail::clock_tick;
using coflux::detail::steal_backoff;

TEST(steal_backoff, is_none_for_a_thief_whose_thefts_are_worth_it) {
    steal_backoff thief;
    EXPECT_EQ(thief.wait(), 0U);
    for (int i = 0; i < 100; ++i) {
        thief.theft_ended(1'500);
        EXPECT_EQ(thief.wait(), 0U);
    }
}

TEST(steal_backoff, grows_to_its_longest_in_a_burst_of_trivial_forks) {
    steal_backoff thief;
    clock_tick before = 0;
    int thefts = 0;
    for (; thief.wait() != thief.longest_wait(); ++thefts) {
        thief.theft_ended(100);
        EXPECT_GE(thief.wait(), before);
        before = thief.wait();
        ASSERT_LT(thefts, 10);
    }
    EXPECT_EQ(thefts, 5);  // 2, 4, 8, 16, 32 us
    for (int i = 0; i < 100; ++i) thief.theft_ended(100);
    EXPECT_EQ(thief.wait(), thief.longest_wait());
    EXPECT_EQ(thief.longest_wait(), 32'000U);
}

TEST(steal_backoff, ends_with_the_first_theft_that_is_worth_some_others) {
    steal_backoff thief;
    for (int i = 0; i < 100; ++i) thief.theft_ended(100);
    thief.theft_ended(10'000);
    EXPECT_EQ(thief.wait(), 0U);
}

TEST(steal_backoff, lets_the_longest_thefts_stand_for_a_bounded_number_of_trivial_ones) {
    steal_backoff thief;
    for (int i = 0; i < 100; ++i) thief.theft_ended(3'600'000'000'000);
    int thefts = 0;
    for (; thief.wait() == 0; ++thefts) thief.theft_ended(50);
    EXPECT_LE(thefts, 70);
}

// Seven of eight nodes are leaves of 100 ns, the eighth is a tree of 20 us: 2.6 us on average.
TEST(steal_backoff, of_an_unbalanced_tree_is_rare) {
    steal_backoff thief;
    std::mt19937 random(7);
    clock_tick waited = 0;
    clock_tick worked = 0;
    for (int i = 0; i < 10'000; ++i) {
        const clock_tick lasted = random() % 8 == 0 ? 20'000 : 100;
        worked += lasted;
        thief.theft_ended(lasted);
        waited += thief.wait();
    }
    EXPECT_LT(waited, worked / 10);
}

// A fence holds up the thief and the victim.
TEST(steal_backoff, counts_what_a_fence_costs_both) {
    steal_backoff thief;
    for (int i = 0; i < 100; ++i) thief.fence_took(11'000);
    thief.stole(steal_backoff::by::fence);
    EXPECT_NEAR(static_cast<double>(thief.cost()), 23'000, 2'000);
    for (int i = 0; i < 100; ++i) {
        thief.theft_ended(26'000);
        EXPECT_EQ(thief.wait(), 0U);
    }
    for (int i = 0; i < 300; ++i) thief.theft_ended(5'000);
    EXPECT_EQ(thief.wait(), steal_backoff::longest * thief.cost());
    thief.theft_ended(60'000);
    EXPECT_EQ(thief.wait(), 0U);
}

TEST(steal_backoff, counts_no_fence_of_what_the_victim_shares) {
    steal_backoff thief;
    for (int i = 0; i < 100; ++i) thief.fence_took(11'000);
    thief.stole(steal_backoff::by::owner);
    EXPECT_EQ(thief.cost(), steal_backoff::lines_cost);
    thief.theft_ended(1'500);
    EXPECT_EQ(thief.wait(), 0U);
}

TEST(steal_backoff, waits_for_an_answer_as_long_as_a_fence_holds_up_both) {
    steal_backoff thief;
    EXPECT_EQ(thief.patience(), 2 * steal_backoff::lines_cost) << "until one is measured";
    for (int i = 0; i < 100; ++i) thief.fence_took(11'000);
    EXPECT_NEAR(static_cast<double>(thief.patience()), 22'000, 2'000);
}

TEST(steal_backoff, does_not_take_a_thief_without_a_processor_for_a_dear_fence) {
    steal_backoff thief;
    for (int i = 0; i < 400; ++i) thief.fence_took(i % 4 == 0 ? 4'000'000 : 11'000);
    EXPECT_LE(thief.patience(), 26'000U);
}

TEST(steal_backoff, is_over_when_the_thief_has_parked) {
    steal_backoff thief;
    for (int i = 0; i < 100; ++i) thief.theft_ended(100);
    thief.parked();
    EXPECT_EQ(thief.wait(), 0U);
    thief.theft_ended(100);
    EXPECT_EQ(thief.wait(), steal_backoff::first);
}

TEST(steal_backoff, follows_a_lost_race) {
    steal_backoff thief;
    thief.lost_a_race();
    EXPECT_EQ(thief.wait(), steal_backoff::first);
    thief.lost_a_race();
    EXPECT_EQ(thief.wait(), 2 * steal_backoff::first);
    thief.theft_ended(16'000);
    EXPECT_EQ(thief.wait(), 0U);
}

}  // namespace
