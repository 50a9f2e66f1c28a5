// The ready coroutines of a victim that a thief may take.
#include "../../../src/executor/pool/lone_ready.hpp"

#include <array>
#include <cstddef>

#include <gtest/gtest.h>

namespace {

using coflux::detail::clock_tick;
using coflux::detail::lone_ready;
using coflux::detail::ready_ring;

constexpr clock_tick few_steps = 1'000;

struct victim {
    ready_ring ready;
    std::array<int, 4> items{};

    void wakes(std::size_t i) { EXPECT_TRUE(ready.push(&items.at(i))); }
    void yields(std::size_t i) {
        ready.note_yield();
        wakes(i);
    }
    void runs() { EXPECT_NE(ready.take(), nullptr); }
};
struct thief {
    lone_ready policy;
    clock_tick now = 1'000'000;

    bool may_take_of(const victim& v, clock_tick after = 1) {
        now += after;
        return policy.may_be_taken(&v, v.ready.look(), now, few_steps);
    }
};

TEST(lone_ready, may_be_taken_if_it_lies_there_for_a_few_steps) {
    victim v;
    thief t;
    v.wakes(0);
    EXPECT_FALSE(t.may_take_of(v));
    EXPECT_FALSE(t.may_take_of(v, few_steps - 1));
    EXPECT_TRUE(t.may_take_of(v));
}

TEST(lone_ready, has_as_long_after_each_step_of_its_worker) {
    victim v;
    thief t;
    v.wakes(0);
    EXPECT_FALSE(t.may_take_of(v));
    v.runs();
    v.wakes(1);
    EXPECT_FALSE(t.may_take_of(v, 5 * few_steps)) << "another one";
    EXPECT_FALSE(t.may_take_of(v, few_steps - 1));
    EXPECT_TRUE(t.may_take_of(v));
}

TEST(lone_ready, is_left_to_two_that_wake_each_other_for_ever) {
    victim v;
    thief t;
    v.wakes(0);
    for (int i = 0; i < 1'000; ++i) {
        EXPECT_FALSE(t.may_take_of(v, few_steps / 2));
        v.runs();
        v.wakes(0);
    }
}

// The sender wakes the receiver, sends more, and gives way.
TEST(lone_ready, is_left_to_two_of_which_one_gives_way_to_the_other_that_it_has_woken) {
    victim v;
    thief t;
    for (int i = 0; i < 1'000; ++i) {
        v.wakes(1);
        EXPECT_FALSE(t.may_take_of(v, few_steps / 2)) << "while the sender runs";
        v.yields(0);
        EXPECT_FALSE(t.may_take_of(v)) << "both are there";
        v.runs();
        EXPECT_FALSE(t.may_take_of(v, few_steps / 4)) << "while the receiver runs";
        v.runs();
    }
}

TEST(lone_ready, may_be_taken_of_two_that_only_yield) {
    victim v;
    thief t;
    v.wakes(0);
    for (std::size_t i = 0; i < lone_ready::several; ++i) {
        EXPECT_FALSE(t.may_take_of(v, few_steps / 2));
        v.yields(i % 2);
        v.runs();
    }
    EXPECT_FALSE(t.may_take_of(v)) << "the other one runs, or there is none";
    v.yields(1);
    EXPECT_TRUE(t.may_take_of(v)) << "both are there";
}

TEST(lone_ready, is_left_to_a_worker_that_has_nothing_else_and_yields) {
    victim v;
    thief t;
    for (int i = 0; i < 1'000; ++i) {
        v.yields(0);
        EXPECT_FALSE(t.may_take_of(v));
        v.runs();
    }
}

TEST(lone_ready, may_be_taken_at_a_second_glance_if_a_timer_has_woken_it) {
    victim v;
    thief t;
    v.wakes(0);
    v.ready.note_woken_elsewhere();
    EXPECT_FALSE(t.may_take_of(v));
    EXPECT_TRUE(t.may_take_of(v));
    v.runs();
    v.wakes(1);
    EXPECT_FALSE(t.may_take_of(v));
    EXPECT_FALSE(t.may_take_of(v)) << "that was the one before";
}

TEST(lone_ready, is_asked_for_neither_of_an_empty_queue_nor_of_one_with_several) {
    victim v;
    thief t;
    EXPECT_FALSE(t.may_take_of(v));
    v.wakes(0);
    v.wakes(1);
    EXPECT_FALSE(t.may_take_of(v));
    v.wakes(2);
    EXPECT_TRUE(t.may_take_of(v)) << "three are more than two that wake each other";
}

TEST(lone_ready, is_watched_at_one_victim_at_a_time_and_at_each_in_the_end) {
    victim pair;
    victim computes;
    thief t;
    pair.wakes(0);
    computes.wakes(0);
    EXPECT_FALSE(t.may_take_of(pair));
    EXPECT_FALSE(t.may_take_of(computes, 10 * few_steps));
    for (std::size_t i = 0; i < lone_ready::several; ++i) {
        pair.runs();
        pair.wakes(0);
    }
    EXPECT_FALSE(t.may_take_of(pair)) << "they wake each other";
    EXPECT_FALSE(t.may_take_of(computes));
    EXPECT_FALSE(t.may_take_of(pair));
    EXPECT_TRUE(t.may_take_of(computes, few_steps));
}

TEST(lone_ready, is_watched_at_one_that_yields_for_so_long_and_no_longer) {
    victim yields;
    victim computes;
    thief t;
    computes.wakes(0);
    yields.yields(0);
    EXPECT_FALSE(t.may_take_of(yields));
    for (std::uint64_t i = 0; i < lone_ready::most; ++i) {
        yields.runs();
        yields.yields(0);
    }
    EXPECT_FALSE(t.may_take_of(yields));
    EXPECT_FALSE(t.may_take_of(computes));
    EXPECT_TRUE(t.may_take_of(computes, few_steps));
}

TEST(lone_ready, is_forgotten_where_nothing_is_ready_any_more) {
    victim v;
    victim other;
    thief t;
    v.wakes(0);
    EXPECT_FALSE(t.may_take_of(v));
    v.runs();
    EXPECT_FALSE(t.may_take_of(v));
    other.wakes(0);
    EXPECT_FALSE(t.may_take_of(other));
    EXPECT_TRUE(t.may_take_of(other, few_steps));
}

}  // namespace
