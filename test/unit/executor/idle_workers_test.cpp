// The steps of sleeping and waking, one by one; test/model/idle_workers_model.cpp has their interleavings.
#include "../../../src/executor/idle_workers.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using coflux::detail::idle_workers;
using coflux::detail::os::parker;

std::uint32_t asleep(const idle_workers& idle) {
    return idle.word().load() & 0xffffU;
}
bool was_woken(parker& place) {
    return place.park_until(1);  // a deadline long past: only a token that is there
}

TEST(idle_workers, looks_for_work_after_a_worker_is_counted_asleep_and_before_it_parks) {
    idle_workers idle(1);
    parker place;
    ASSERT_TRUE(idle.falls_asleep(place));
    bool looked = false;
    idle.sleep(
        [&] {
            looked = true;
            EXPECT_EQ(asleep(idle), 1U);  // who pushes from now on sees the sleeper
            return true;
        },
        [](bool) {
            ADD_FAILURE() << "parked though there was work";
            return true;
        });
    EXPECT_TRUE(looked);
    idle.wakes_up(place);
    EXPECT_EQ(asleep(idle), 0U);
}

TEST(idle_workers, looks_for_work_again_after_a_park_that_was_no_wake_up) {
    idle_workers idle(2);
    parker place;
    ASSERT_TRUE(idle.falls_asleep(place));
    int looks = 0, parks = 0;
    idle.sleep([&] { return ++looks == 3; },
               [&](bool all_sleep) {
                   EXPECT_FALSE(all_sleep);
                   return ++parks == 5;  // an end, if it does not look
               });
    EXPECT_EQ(looks, 3);
    EXPECT_EQ(parks, 2);
    idle.wakes_up(place);
}

TEST(idle_workers, wakes_the_last_who_fell_asleep_and_takes_it_off_the_list) {
    idle_workers idle(2);
    parker first, last;
    ASSERT_TRUE(idle.falls_asleep(first));
    ASSERT_TRUE(idle.falls_asleep(last));
    idle.work_came();
    EXPECT_EQ(asleep(idle), 1U);
    EXPECT_TRUE(was_woken(last));
    EXPECT_FALSE(was_woken(first));
    idle.wakes_up(last);
    EXPECT_EQ(asleep(idle), 1U);
    idle.wakes_up(first);
    EXPECT_EQ(asleep(idle), 0U);
}

TEST(idle_workers, wakes_nobody_while_somebody_looks_for_work) {
    idle_workers idle(2);
    parker place;
    ASSERT_TRUE(idle.falls_asleep(place));
    idle.begin_search();
    idle.work_came();
    EXPECT_FALSE(was_woken(place));
    idle.end_search(true, [] { return false; });
    EXPECT_FALSE(was_woken(place));
    idle.begin_search();
    idle.end_search(true, [] { return true; });  // the last to look leaves work behind
    EXPECT_TRUE(was_woken(place));
    idle.wakes_up(place);
}

TEST(idle_workers, let_nobody_fall_asleep_after_the_end) {
    idle_workers idle(1);
    parker place;
    EXPECT_FALSE(idle.ended());
    idle.end();
    EXPECT_TRUE(idle.ended());
    EXPECT_FALSE(idle.falls_asleep(place));
    EXPECT_EQ(asleep(idle), 0U);
}

}  // namespace
