#include <coflux/sync/semaphore.hpp>

#include <atomic>
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
using coflux::semaphore;
using coflux_test::by_hand;
using coflux_test::hand;
using coflux_test::journal;
using coflux_test::lines;
using coflux_test::pool;
using coflux_test::thread_executor;

coflux::fork<void, hand> takes(coflux::environment&, borrowed<semaphore> s, std::size_t n, journal* j,
                               std::string name) {
    co_await s->acquire(n);
    j->write(name);
}

coflux::fork<void, hand> keeps(coflux::environment&, borrowed<semaphore> s, std::size_t n,
                               borrowed<coflux::manual_reset_event> leave) {
    const semaphore::permit permit = co_await s->acquire_guard(n);
    EXPECT_EQ(permit.count(), n);
    co_await leave->wait();
}

TEST(semaphore, gives_what_is_there_without_a_suspension) {
    by_hand s;
    semaphore permits(3);
    journal j;
    auto f = takes(s.env, borrowed(permits), 2, &j, "f");
    EXPECT_EQ(s.executor.run_all(), 1U);
    EXPECT_TRUE(f.done());
    EXPECT_EQ(permits.available(), 1U);
    EXPECT_FALSE(permits.try_acquire(2));
    EXPECT_TRUE(permits.try_acquire());
    EXPECT_EQ(permits.available(), 0U);
    permits.release(3);
    EXPECT_EQ(permits.available(), 3U);
}

TEST(semaphore, serves_in_the_order_in_which_they_came_and_never_inside_release) {
    by_hand s;
    semaphore permits(0);
    journal j;
    auto a = takes(s.env, borrowed(permits), 1, &j, "a");
    auto b = takes(s.env, borrowed(permits), 1, &j, "b");
    auto c = takes(s.env, borrowed(permits), 1, &j, "c");
    s.drive();
    permits.release(2);
    EXPECT_TRUE(j.lines().empty());
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"a", "b"}));
    permits.release();
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"a", "b", "c"}));
    EXPECT_EQ(permits.available(), 0U);
}

TEST(semaphore, lets_no_waiter_overtake_a_request_for_many) {
    by_hand s;
    semaphore permits(2);
    journal j;
    auto big = takes(s.env, borrowed(permits), 5, &j, "big");
    auto small = takes(s.env, borrowed(permits), 1, &j, "small");
    s.drive();
    EXPECT_TRUE(j.lines().empty());
    EXPECT_FALSE(permits.try_acquire()) << "there are two, but a coroutine waits";
    permits.release(2);
    s.drive();
    EXPECT_TRUE(j.lines().empty());
    EXPECT_EQ(permits.available(), 4U);
    permits.release(3);
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"big", "small"}));
    EXPECT_EQ(permits.available(), 1U);
    EXPECT_TRUE(permits.try_acquire());
}

TEST(semaphore_permit, gives_back_once_wherever_it_is_moved) {
    semaphore permits(5);
    semaphore::permit none;
    EXPECT_FALSE(none);
    EXPECT_EQ(none.count(), 0U);
    semaphore::permit two = permits.try_acquire_guard(2);
    EXPECT_EQ(two.count(), 2U);
    EXPECT_FALSE(permits.try_acquire_guard(4));
    semaphore::permit moved = std::move(two);
    EXPECT_FALSE(two);  // NOLINT(bugprone-use-after-move): that is what is asked
    EXPECT_EQ(permits.available(), 3U);
    moved = permits.try_acquire_guard(3);
    EXPECT_EQ(permits.available(), 2U) << "what it owned before is given back";
    moved.release();
    EXPECT_FALSE(moved);
    EXPECT_EQ(permits.available(), 5U);
}

TEST(semaphore_permit, that_was_waited_for_is_given_back_by_a_stop) {
    by_hand s;
    semaphore permits(0);
    coflux::manual_reset_event leave;
    auto f = keeps(s.env, borrowed(permits), 2, borrowed(leave));
    s.drive();
    permits.release(2);
    s.drive();
    EXPECT_EQ(permits.available(), 0U);
    f.request_stop();
    s.drive();
    EXPECT_TRUE(f.done());
    EXPECT_EQ(permits.available(), 2U);
}

TEST(semaphore_stop, before_the_wait_takes_nothing) {
    by_hand s;
    semaphore permits(1);
    journal j;
    auto f = takes(s.env, borrowed(permits), 2, &j, "f");
    f.request_stop();
    s.drive();
    EXPECT_TRUE(f.done());
    EXPECT_TRUE(j.lines().empty());
    EXPECT_TRUE(permits.try_acquire()) << "no coroutine waits";
}

TEST(semaphore_stop, of_a_request_for_many_lets_those_behind_it_move_up) {
    by_hand s;
    semaphore permits(2);
    journal j;
    auto big = takes(s.env, borrowed(permits), 5, &j, "big");
    auto a = takes(s.env, borrowed(permits), 1, &j, "a");
    auto b = takes(s.env, borrowed(permits), 1, &j, "b");
    auto c = takes(s.env, borrowed(permits), 1, &j, "c");
    s.drive();
    big.request_stop();
    EXPECT_TRUE(j.lines().empty()) << "they are queued, not run";
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"a", "b"}));
    permits.release();
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"a", "b", "c"}));
}

TEST(semaphore_stop, of_the_last_waiter_leaves_what_there_is_to_all) {
    by_hand s;
    semaphore permits(2);
    journal j;
    auto big = takes(s.env, borrowed(permits), 5, &j, "big");
    s.drive();
    EXPECT_FALSE(permits.try_acquire());
    big.request_stop();
    EXPECT_TRUE(permits.try_acquire(2));
    s.drive();
    EXPECT_TRUE(big.done());
}

TEST(semaphore_stop, after_it_was_served_takes_nothing_back) {
    by_hand s;
    semaphore permits(0);
    journal j;
    auto f = takes(s.env, borrowed(permits), 1, &j, "f");
    s.drive();
    permits.release();
    f.request_stop();
    s.drive();
    EXPECT_EQ(j.lines(), lines{"f"});
    EXPECT_EQ(permits.available(), 0U);
}

coflux::fork<void, pool> passes_through(coflux::environment&, borrowed<semaphore> s, borrowed<std::atomic<int>> inside,
                                        std::size_t n, int most) {
    for (std::size_t i = 0; i < coflux_test::repetitions(40'000); ++i) {
        const semaphore::permit permit = co_await s->acquire_guard(n);
        const int there = inside->fetch_add(static_cast<int>(n)) + static_cast<int>(n);
        if (there > most) ADD_FAILURE() << there << " permits are in use";
        if (i % 5 == 0) co_await coflux::yield();
        inside->fetch_sub(static_cast<int>(n));
    }
}

TEST(semaphore, lets_no_more_in_than_there_are_permits_on_two_threads) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    const auto root = [](coflux::environment&) -> coflux::task<std::size_t, pool> {
        auto&& here = co_await coflux::context();
        semaphore s(3);
        std::atomic<int> inside{0};
        std::vector<coflux::fork<void, pool>> all;
        for (std::size_t n : {1U, 2U, 3U, 1U}) all.push_back(passes_through(here, borrowed(s), borrowed(inside), n, 3));
        co_await coflux::when_all(std::move(all));
        co_return s.available();
    };
    EXPECT_EQ(root(env).get(), 3U);
}

/// Waits for a permit that another thread is about to give, and destroys the semaphore at once.
coflux::fork<void, thread_executor> destroys(coflux::environment&, std::unique_ptr<semaphore> s,
                                             borrowed<coflux::latch> begun, std::size_t dawdles) {
    begun->count_down();
    for (std::size_t i = 0; i < dawdles % 31; ++i) coflux::detail::cpu_pause();
    co_await s->acquire(2);
    s.reset();
}

TEST(semaphore, may_be_destroyed_by_the_served_waiter_while_release_returns) {
    constexpr std::size_t rounds = coflux_test::repetitions(40'000);
    pool threads{1};
    thread_executor other;
    auto env = coflux::make_environment(threads, other);
    const auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (std::size_t i = 0; i < rounds; ++i) {
            auto owned = std::make_unique<semaphore>(1);
            semaphore& s = *owned;
            coflux::latch begun(1);
            auto f = destroys(here, std::move(owned), borrowed(begun), i / 31);
            co_await begun.wait();
            for (std::size_t k = 0; k < i % 31; ++k) coflux::detail::cpu_pause();
            s.release();
            co_await std::move(f);
        }
    };
    root(env).get();
}

void dies_with_a_waiter() {
    coflux_test::die_rather_than_hang();
    by_hand s;
    auto permits = std::make_unique<semaphore>(0);
    journal j;
    auto f = takes(s.env, borrowed(*permits), 1, &j, "f");
    s.drive();
    permits.reset();
}

TEST(semaphore_death, of_one_in_which_a_coroutine_waits_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(dies_with_a_waiter(), "a semaphore was destroyed while coroutines wait for it");
}

}  // namespace
