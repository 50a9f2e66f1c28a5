// The steps of sleeping and waking, one by one; test/model/idle_workers_model.cpp has their interleavings.
#include "../../../src/executor/idle_workers.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using coflux::detail::idle_workers;
using coflux::detail::os::parker;
using rest = idle_workers::rest;

std::uint32_t asleep(const idle_workers& idle) {
    return idle.word().load() & 0xffffU;
}
bool was_woken(parker& place) {
    return place.park_until(1);  // a deadline long past: only a token that is there
}
bool always() {
    return true;
}
bool never() {
    return false;
}
/// How the worker at `place` rests, `times` times, without being woken.
template <typename LooksOn>
std::vector<rest> rests(idle_workers& idle, parker& place, std::size_t times, LooksOn looks_on) {
    std::vector<rest> all;
    idle.sleep(
        place, [&] { return all.size() == times; }, looks_on,
        [&](rest r) {
            all.push_back(r);
            return false;
        });
    return all;
}

TEST(idle_workers, looks_for_work_after_a_worker_is_counted_and_before_it_parks) {
    idle_workers idle(1);
    parker place;
    ASSERT_TRUE(idle.prepare_park(place));
    bool looked = false;
    idle.sleep(
        place,
        [&] {
            looked = true;
            EXPECT_EQ(asleep(idle), 1U);  // a push from now on sees the sleeper
            return true;
        },
        always,
        [](rest) {
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
    ASSERT_TRUE(idle.prepare_park(place));
    int looks = 0, parks = 0;
    idle.sleep(
        place, [&] { return ++looks == 3; }, always,
        [&](rest r) {
            EXPECT_NE(r, rest::for_ever);
            return ++parks == 5;  // an end, if it does not look
        });
    EXPECT_EQ(looks, 3);
    EXPECT_EQ(parks, 2);
    idle.wakes_up(place);
}

TEST(idle_workers, wakes_the_last_that_parked_and_takes_it_off_the_list) {
    idle_workers idle(2);
    parker first, last;
    ASSERT_TRUE(idle.prepare_park(first));
    ASSERT_TRUE(idle.prepare_park(last));
    idle.work_came();
    EXPECT_EQ(asleep(idle), 1U);
    EXPECT_TRUE(was_woken(last));
    EXPECT_FALSE(was_woken(first));
    idle.wakes_up(last);
    EXPECT_EQ(asleep(idle), 1U);
    idle.wakes_up(first);
    EXPECT_EQ(asleep(idle), 0U);
}

TEST(idle_workers, wakes_no_worker_while_one_looks_for_work) {
    idle_workers idle(2);
    parker place, other;
    ASSERT_TRUE(idle.prepare_park(place));
    idle.begin_search(other);
    idle.work_came();
    EXPECT_FALSE(was_woken(place));
    idle.end_search(true, [] { return false; });
    EXPECT_FALSE(was_woken(place));
    idle.begin_search(other);
    idle.end_search(true, [] { return true; });  // the last to look leaves work behind
    EXPECT_TRUE(was_woken(place));
    idle.wakes_up(place);
}

TEST(idle_workers, has_a_look_out_while_it_looks_on_and_until_that_has_begun_to_search) {
    idle_workers idle(3);
    parker first, second;
    EXPECT_FALSE(idle.somebody_looks_out());
    ASSERT_TRUE(idle.prepare_park(first));
    EXPECT_EQ(rests(idle, first, 2, always), (std::vector{rest::moment, rest::moment}));
    EXPECT_TRUE(idle.somebody_looks_out()) << "it has not looked yet";
    ASSERT_TRUE(idle.prepare_park(second));
    EXPECT_EQ(rests(idle, second, 1, always), std::vector{rest::while_others_work}) << "one is enough";
    idle.wakes_up(first);
    EXPECT_TRUE(idle.somebody_looks_out());
    idle.begin_search(second);
    EXPECT_TRUE(idle.somebody_looks_out()) << "that was another";
    idle.begin_search(first);
    EXPECT_FALSE(idle.somebody_looks_out());
    idle.end_search(false, never);
    idle.end_search(false, never);
    idle.wakes_up(second);
}

TEST(idle_workers, looks_once_more_when_it_does_not_look_out_any_more) {
    idle_workers idle(2);
    parker place;
    ASSERT_TRUE(idle.prepare_park(place));
    int looks = 0;
    EXPECT_EQ(rests(idle, place, 4, [&] { return ++looks < 2; }),
              (std::vector{rest::moment, rest::moment, rest::while_others_work, rest::while_others_work}));
    EXPECT_FALSE(idle.somebody_looks_out());
    idle.wakes_up(place);
}

TEST(idle_workers, has_no_look_out_when_all_sleep) {
    idle_workers idle(1);
    parker place;
    ASSERT_TRUE(idle.prepare_park(place));
    EXPECT_EQ(rests(idle, place, 1, always), std::vector{rest::for_ever});
    EXPECT_FALSE(idle.somebody_looks_out());
    idle.wakes_up(place);
}

TEST(idle_workers, counts_on_the_woken_worker_to_look) {
    idle_workers idle(2);
    parker place;
    ASSERT_TRUE(idle.prepare_park(place));
    idle.wake_one();
    EXPECT_TRUE(idle.somebody_looks_out());
    EXPECT_TRUE(was_woken(place));
    idle.wakes_up(place);
    EXPECT_TRUE(idle.somebody_looks_out());
    idle.begin_search(place);
    EXPECT_FALSE(idle.somebody_looks_out());
    idle.end_search(false, never);
}

TEST(idle_workers, let_no_worker_park_after_the_end) {
    idle_workers idle(1);
    parker place;
    EXPECT_FALSE(idle.ended());
    idle.end();
    EXPECT_TRUE(idle.ended());
    EXPECT_FALSE(idle.prepare_park(place));
    EXPECT_EQ(asleep(idle), 0U);
}

}  // namespace
