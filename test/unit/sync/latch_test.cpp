#include <coflux/sync/latch.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "by_hand.hpp"
#include "support/iterations.hpp"
#include "support/no_hang.hpp"
#include "support/witness.hpp"

namespace {

using coflux::borrowed;
using coflux::latch;
using coflux_test::by_hand;
using coflux_test::hand;
using coflux_test::journal;
using coflux_test::lines;
using coflux_test::pool;
using coflux_test::thread_executor;

coflux::fork<void, hand> passes(coflux::environment&, borrowed<latch> l, journal* j, std::string name) {
    co_await l->wait();
    j->write(name);
}
coflux::fork<void, hand> arrives(coflux::environment&, borrowed<latch> l, std::size_t n, journal* j, std::string name) {
    co_await l->arrive_and_wait(n);
    j->write(name);
}

TEST(latch, opens_at_zero_for_all_in_the_order_in_which_they_came) {
    by_hand s;
    latch l(3);
    journal j;
    auto a = passes(s.env, borrowed(l), &j, "a");
    auto b = passes(s.env, borrowed(l), &j, "b");
    s.drive();
    l.count_down();
    l.count_down();
    EXPECT_FALSE(l.try_wait());
    EXPECT_EQ(s.executor.pending(), 0U);
    l.count_down();
    EXPECT_TRUE(l.try_wait());
    EXPECT_TRUE(j.lines().empty()) << "they are queued, not run";
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"a", "b"}));
}

TEST(latch, that_is_open_does_not_suspend) {
    by_hand s;
    latch l(0);
    journal j;
    auto a = passes(s.env, borrowed(l), &j, "a");
    EXPECT_EQ(s.executor.run_all(), 1U);
    EXPECT_TRUE(a.done());
}

TEST(latch, counts_down_by_many_and_by_those_that_wait) {
    by_hand s;
    latch l(10);
    journal j;
    auto a = arrives(s.env, borrowed(l), 4, &j, "a");
    auto b = passes(s.env, borrowed(l), &j, "b");
    s.drive();
    l.count_down(3);
    EXPECT_FALSE(l.try_wait());
    auto c = arrives(s.env, borrowed(l), 3, &j, "c");
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"c", "a", "b"})) << "the last to arrive does not suspend";
}

TEST(latch_stop, before_the_wait_stops_and_counts_all_the_same) {
    by_hand s;
    latch l(2);
    journal j;
    auto a = arrives(s.env, borrowed(l), 1, &j, "a");
    auto b = passes(s.env, borrowed(l), &j, "b");
    a.request_stop();
    s.drive();
    EXPECT_TRUE(a.done());
    EXPECT_TRUE(j.lines().empty());
    l.count_down();
    s.drive();
    EXPECT_EQ(j.lines(), lines{"b"});
}

TEST(latch_stop, during_the_wait_leaves_the_others_and_the_count) {
    by_hand s;
    latch l(3);
    journal j;
    auto a = passes(s.env, borrowed(l), &j, "a");
    auto b = arrives(s.env, borrowed(l), 1, &j, "b");
    auto c = passes(s.env, borrowed(l), &j, "c");
    s.drive();
    b.request_stop();
    s.drive();
    EXPECT_TRUE(b.done());
    l.count_down();
    EXPECT_FALSE(l.try_wait());
    l.count_down();
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"a", "c"}));
}

TEST(latch_stop, of_all_that_wait_leaves_a_latch_that_may_die) {
    by_hand s;
    journal j;
    latch l(1);
    auto a = passes(s.env, borrowed(l), &j, "a");
    s.drive();
    a.request_stop();
    s.drive();
    EXPECT_TRUE(a.done());
}

TEST(latch_stop, after_it_opened_takes_nothing_back) {
    by_hand s;
    latch l(1);
    journal j;
    auto a = passes(s.env, borrowed(l), &j, "a");
    s.drive();
    l.count_down();
    a.request_stop();
    s.drive();
    EXPECT_EQ(j.lines(), lines{"a"});
}

coflux::fork<void, thread_executor> opens(coflux::environment&, borrowed<latch> l, std::size_t dawdles) {
    for (std::size_t i = 0; i < dawdles % 31; ++i) coflux::detail::cpu_pause();
    l->count_down();
    co_return;
}

/// The waiter destroys the latch as soon as it is through, whether it waited or found it open.
TEST(latch, may_be_destroyed_by_the_woken_waiter_while_count_down_returns) {
    constexpr std::size_t rounds = coflux_test::repetitions(40'000);
    pool threads{1};
    thread_executor other;
    auto env = coflux::make_environment(threads, other);
    const auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (std::size_t i = 0; i < rounds; ++i) {
            auto l = std::make_unique<latch>(1);
            auto f = opens(here, borrowed(*l), i / 31);
            for (std::size_t k = 0; k < i % 31; ++k) coflux::detail::cpu_pause();
            co_await l->wait();
            l.reset();
            co_await std::move(f);
        }
    };
    root(env).get();
}

coflux::fork<void, pool> writes_and_arrives(coflux::environment&, borrowed<latch> l, borrowed<std::vector<int>> cells,
                                            std::size_t at) {
    (*cells)[at] = 1;  // not atomic: the latch is all that orders it
    co_await l->arrive_and_wait();
    int sum = 0;
    for (const int cell : *cells) sum += cell;
    EXPECT_EQ(sum, 4);
}

TEST(latch, publishes_what_came_before_each_count_on_two_threads) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    const auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (std::size_t round = 0; round < coflux_test::repetitions(20'000); ++round) {
            latch l(4);
            std::vector<int> cells(4);
            std::vector<coflux::fork<void, pool>> all;
            for (std::size_t i = 0; i < 4; ++i)
                all.push_back(writes_and_arrives(here, borrowed(l), borrowed(cells), i));
            co_await coflux::when_all(std::move(all));
        }
    };
    root(env).get();
}

void dies_with_a_waiter() {
    coflux_test::die_rather_than_hang();
    by_hand s;
    auto l = std::make_unique<latch>(1);
    journal j;
    auto f = passes(s.env, borrowed(*l), &j, "f");
    s.drive();
    l.reset();
}
void counts_too_far() {
    latch l(1);
    l.count_down(2);
}

TEST(latch_death, of_one_in_which_a_coroutine_waits_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(dies_with_a_waiter(), "a latch was destroyed while coroutines wait for it");
}
TEST(latch_death, counting_below_zero_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(counts_too_far(), "a latch was counted down below zero");
}

}  // namespace
