// How long a worker without work looks before it parks.
#include "../../../src/executor/pool/spin_budget.hpp"

#include <gtest/gtest.h>

namespace {

using coflux::detail::spin_budget;

TEST(spin_budget, is_the_longest_at_first_and_while_work_comes_within_it) {
    spin_budget spin(50'000);
    EXPECT_EQ(spin.now(), 50'000U);
    for (const unsigned after : {0U, 1'000U, 50'000U}) {
        spin.work_came(after);
        EXPECT_EQ(spin.now(), 50'000U);
    }
}

TEST(spin_budget, is_an_eighth_where_looking_is_in_vain) {
    spin_budget spin(50'000);
    spin.work_came(1'000'000);
    EXPECT_EQ(spin.now(), 25'000U);
    for (int i = 0; i < 10; ++i) spin.work_came(1'000'000);
    EXPECT_EQ(spin.now(), 6'250U);
}

// It was parked when the work came, but would have found it with the time that it may take.
TEST(spin_budget, grows_again_where_longer_looking_would_have_paid) {
    spin_budget spin(50'000);
    for (int i = 0; i < 10; ++i) spin.work_came(1'000'000);
    for (int i = 0; i < 3; ++i) spin.work_came(40'000);
    EXPECT_EQ(spin.now(), 50'000U);
}

TEST(spin_budget, of_nothing_stays_nothing) {
    spin_budget spin(0);
    spin.work_came(0);
    spin.work_came(10);
    EXPECT_EQ(spin.now(), 0U);
}

TEST(spin_budget, is_not_spent_where_other_threads_need_the_processor) {
    EXPECT_FALSE(spin_budget::may_look(1, 1)) << "the thread that would bring work";
    EXPECT_FALSE(spin_budget::may_look(1, 2));
    EXPECT_TRUE(spin_budget::may_look(2, 1));
    EXPECT_TRUE(spin_budget::may_look(2, 2));
    EXPECT_FALSE(spin_budget::may_look(2, 3)) << "a worker that has work";
    EXPECT_FALSE(spin_budget::may_look(2, 1'000));
}

}  // namespace
