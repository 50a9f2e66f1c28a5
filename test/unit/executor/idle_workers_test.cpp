// The steps of sleeping and waking, one by one; test/model/idle_workers_model.cpp has their interleavings.
#include "../../../src/executor/pool/idle_workers.hpp"

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
bool was_woken(parker& own) {
    return own.park_until(1);  // a deadline long past: only a token that is there
}
void push_from_outside(idle_workers& idle) {
    if (!idle.must_wake()) return;
    idle.wake_one();
    idle.leave();
}
bool always() {
    return true;
}
bool never() {
    return false;
}
/// How the worker at `own` rests, `times` times, without being woken.
template <typename KeepsLookout>
std::vector<rest> rests(idle_workers& idle, parker& own, std::size_t times, KeepsLookout keeps_lookout) {
    std::vector<rest> all;
    idle.sleep(
        own, true, [&] { return all.size() == times; }, keeps_lookout,
        [&](rest r) {
            all.push_back(r);
            return false;
        });
    return all;
}

TEST(idle_workers, looks_for_work_after_a_worker_is_counted_and_before_it_parks) {
    idle_workers idle(1);
    parker own;
    ASSERT_TRUE(idle.prepare_park(own));
    bool looked = false;
    idle.sleep(
        own, true,
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
    idle.end_park(own);
    EXPECT_EQ(asleep(idle), 0U);
}

TEST(idle_workers, looks_for_work_again_after_a_park_that_was_no_wake_up) {
    idle_workers idle(2);
    parker own;
    ASSERT_TRUE(idle.prepare_park(own));
    int looks = 0, parks = 0;
    idle.sleep(
        own, true, [&] { return ++looks == 3; }, always,
        [&](rest r) {
            EXPECT_NE(r, rest::for_ever);
            return ++parks == 5;  // an end, if it does not look
        });
    EXPECT_EQ(looks, 3);
    EXPECT_EQ(parks, 2);
    idle.end_park(own);
}

TEST(idle_workers, wakes_the_last_that_parked_and_takes_it_off_the_list) {
    idle_workers idle(2);
    parker first, last;
    ASSERT_TRUE(idle.prepare_park(first));
    ASSERT_TRUE(idle.prepare_park(last));
    push_from_outside(idle);
    EXPECT_EQ(asleep(idle), 1U);
    EXPECT_TRUE(was_woken(last));
    EXPECT_FALSE(was_woken(first));
    idle.end_park(last);
    EXPECT_EQ(asleep(idle), 1U);
    idle.end_park(first);
    EXPECT_EQ(asleep(idle), 0U);
}

TEST(idle_workers, wakes_those_that_parked_as_last_after_all_others) {
    idle_workers idle(4);
    parker plain, other, guard;
    ASSERT_TRUE(idle.prepare_park(plain));
    ASSERT_TRUE(idle.prepare_park(guard, true));
    ASSERT_TRUE(idle.prepare_park(other));
    for (parker* const next : {&other, &plain, &guard}) {
        idle.wake_one();
        EXPECT_TRUE(was_woken(*next));
    }
}

TEST(idle_workers, wakes_no_worker_while_one_looks_for_work) {
    idle_workers idle(2);
    parker own, other;
    ASSERT_TRUE(idle.prepare_park(own));
    idle.begin_search(other);
    push_from_outside(idle);
    EXPECT_FALSE(was_woken(own));
    idle.end_search(true, [] { return false; });
    EXPECT_FALSE(was_woken(own));
    idle.begin_search(other);
    idle.end_search(true, [] { return true; });  // the last to look leaves work behind
    EXPECT_TRUE(was_woken(own));
    idle.end_park(own);
}

TEST(idle_workers, wakes_one_where_more_lies_there_than_others_look) {
    idle_workers idle(4);
    parker own, first, second, third;
    ASSERT_TRUE(idle.prepare_park(own));
    for (const parker* const p : {&first, &second, &third}) idle.begin_search(*p);
    const auto not_asked = [] { return false; };
    idle.end_search(true, not_asked, 2);
    EXPECT_FALSE(was_woken(own)) << "two lie there, and two look";
    idle.end_search(false, not_asked, 5);
    EXPECT_FALSE(was_woken(own)) << "it has found nothing";
    idle.end_search(true, not_asked, 1);
    EXPECT_TRUE(was_woken(own));
    idle.end_park(own);
}

TEST(idle_workers, has_a_look_out_while_it_looks_on_and_until_that_has_begun_to_search) {
    idle_workers idle(3);
    parker first, second;
    EXPECT_FALSE(idle.has_lookout());
    ASSERT_TRUE(idle.prepare_park(first));
    EXPECT_EQ(rests(idle, first, 2, always), (std::vector{rest::moment, rest::moment}));
    EXPECT_TRUE(idle.has_lookout()) << "it has not looked yet";
    ASSERT_TRUE(idle.prepare_park(second));
    EXPECT_EQ(rests(idle, second, 1, always), std::vector{rest::while_others_work}) << "one is enough";
    idle.end_park(first);
    EXPECT_TRUE(idle.has_lookout());
    idle.begin_search(second);
    EXPECT_TRUE(idle.has_lookout()) << "that was another";
    idle.begin_search(first);
    EXPECT_FALSE(idle.has_lookout());
    idle.end_search(false, never);
    idle.end_search(false, never);
    idle.end_park(second);
}

TEST(idle_workers, looks_once_more_when_it_does_not_look_out_any_more) {
    idle_workers idle(2);
    parker own;
    ASSERT_TRUE(idle.prepare_park(own));
    int looks = 0;
    EXPECT_EQ(rests(idle, own, 4, [&] { return ++looks < 2; }),
              (std::vector{rest::moment, rest::moment, rest::while_others_work, rest::while_others_work}));
    EXPECT_FALSE(idle.has_lookout());
    idle.end_park(own);
}

TEST(idle_workers, names_none_that_need_not_look_out) {
    idle_workers idle(2);
    parker own;
    ASSERT_TRUE(idle.prepare_park(own));
    idle.sleep(
        own, false, [n = 0]() mutable { return n++ == 1; }, always,
        [](rest r) {
            EXPECT_EQ(r, rest::while_others_work);
            return false;
        });
    EXPECT_FALSE(idle.has_lookout());
    idle.end_park(own);
}

TEST(idle_workers, keeps_its_look_out_when_all_sleep_and_sleeps_for_ever_after_it_has_gone_off) {
    idle_workers idle(1);
    parker own;
    ASSERT_TRUE(idle.prepare_park(own));
    int looks = 0;
    EXPECT_EQ(rests(idle, own, 3, [&] { return ++looks < 3; }),
              (std::vector{rest::moment, rest::moment, rest::for_ever}));
    EXPECT_FALSE(idle.has_lookout());
    idle.end_park(own);
}

TEST(idle_workers, counts_on_the_woken_worker_to_look) {
    idle_workers idle(2);
    parker own;
    ASSERT_TRUE(idle.prepare_park(own));
    idle.wake_one();
    EXPECT_TRUE(idle.has_lookout());
    EXPECT_TRUE(was_woken(own));
    idle.end_park(own);
    EXPECT_TRUE(idle.has_lookout());
    idle.begin_search(own);
    EXPECT_FALSE(idle.has_lookout());
    idle.end_search(false, never);
}

TEST(idle_workers, let_no_worker_park_after_the_end) {
    idle_workers idle(1);
    parker own;
    EXPECT_FALSE(idle.ended());
    idle.end();
    EXPECT_TRUE(idle.ended());
    EXPECT_FALSE(idle.prepare_park(own));
    EXPECT_EQ(asleep(idle), 0U);
}

}  // namespace
