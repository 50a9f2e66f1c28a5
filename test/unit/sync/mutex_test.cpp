#include <coflux/sync/mutex.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "by_hand.hpp"
#include "support/executors.hpp"
#include "support/iterations.hpp"
#include "support/no_hang.hpp"
#include "support/witness.hpp"

namespace {

using coflux::borrowed;
using coflux::mutex;
using coflux_test::by_hand;
using coflux_test::hand;
using coflux_test::journal;
using coflux_test::lines;
using coflux_test::mortal;
using coflux_test::pool;
using coflux_test::thread_executor;

coflux::fork<void, hand> enters(coflux::environment&, borrowed<mutex> m, journal* j, std::string name) {
    const mortal local(*j, name);
    const mutex::guard guard = co_await m->lock();
    j->write(name + " has it");
}

coflux::fork<void, hand> enters_and_waits(coflux::environment&, borrowed<mutex> m,
                                          borrowed<coflux::manual_reset_event> leave) {
    const mutex::guard guard = co_await m->lock();
    co_await leave->wait();
}

TEST(mutex, that_is_free_is_locked_without_a_suspension) {
    by_hand s;
    mutex m;
    coflux::manual_reset_event leave;
    auto f = enters_and_waits(s.env, borrowed(m), borrowed(leave));
    EXPECT_EQ(s.executor.run_all(), 1U);
    EXPECT_FALSE(m.try_lock());
    leave.set();
    EXPECT_EQ(s.executor.run_all(), 1U);
    EXPECT_TRUE(f.done());
    EXPECT_TRUE(m.try_lock());
}

TEST(mutex, is_handed_over_in_the_order_in_which_they_came_and_never_inside_unlock) {
    by_hand s;
    mutex m;
    journal j;
    mutex::guard held = m.try_lock();
    auto a = enters(s.env, borrowed(m), &j, "a");
    auto b = enters(s.env, borrowed(m), &j, "b");
    auto c = enters(s.env, borrowed(m), &j, "c");
    s.drive();
    EXPECT_TRUE(j.lines().empty());
    held.unlock();
    EXPECT_TRUE(j.lines().empty()) << "the next owner is queued, not run";
    EXPECT_FALSE(m.try_lock()) << "no coroutine comes before the next owner";
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"a has it", "a dies", "b has it", "b dies", "c has it", "c dies"}));
    EXPECT_TRUE(m.try_lock());
}

TEST(mutex_guard, unlocks_once_wherever_it_is_moved) {
    mutex m;
    mutex other;
    mutex::guard empty;
    EXPECT_FALSE(empty.owns_lock());
    mutex::guard first = m.try_lock();
    EXPECT_TRUE(first.owns_lock());
    EXPECT_TRUE(first.owns_lock_on(m));
    EXPECT_FALSE(first.owns_lock_on(other));
    mutex::guard second = std::move(first);
    EXPECT_FALSE(first.owns_lock());  // NOLINT(bugprone-use-after-move): that is what is asked
    EXPECT_FALSE(m.try_lock());
    second = other.try_lock();
    EXPECT_TRUE(m.try_lock()) << "what it owned before is unlocked";
    EXPECT_FALSE(other.try_lock());
    second.swap(first);
    EXPECT_FALSE(second);
    first.unlock();
    EXPECT_FALSE(first);
    EXPECT_TRUE(other.try_lock());
}

TEST(mutex, is_unlocked_by_an_exception) {
    by_hand s;
    mutex m;
    const auto root = [](coflux::environment&, borrowed<mutex> of) -> coflux::task<void, hand> {
        const mutex::guard guard = co_await of->lock();
        throw std::runtime_error("with the lock");
    };
    auto t = root(s.env, borrowed(m));
    s.drive();
    EXPECT_THROW(t.get(), std::runtime_error);
    EXPECT_TRUE(m.try_lock());
}

TEST(mutex_stop, before_the_wait_ends_the_coroutine_without_the_lock) {
    by_hand s;
    mutex m;
    journal j;
    mutex::guard held = m.try_lock();
    auto f = enters(s.env, borrowed(m), &j, "f");
    f.request_stop();
    s.drive();
    EXPECT_TRUE(f.done());
    EXPECT_EQ(j.lines(), lines{"f dies"});
    held.unlock();
    EXPECT_TRUE(m.try_lock());
}

TEST(mutex_stop, does_not_keep_a_coroutine_from_a_lock_that_is_free) {
    by_hand s;
    mutex m;
    journal j;
    auto f = enters(s.env, borrowed(m), &j, "f");
    f.request_stop();
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"f has it", "f dies"}));
    EXPECT_TRUE(m.try_lock());
}

TEST(mutex_stop, takes_a_coroutine_out_of_the_queue_wherever_it_stands) {
    for (std::size_t stopped = 0; stopped < 3; ++stopped) {
        by_hand s;
        mutex m;
        journal j;
        mutex::guard held = m.try_lock();
        const lines names{"a", "b", "c"};
        std::vector<coflux::fork<void, hand>> forks;
        for (const auto& name : names) forks.push_back(enters(s.env, borrowed(m), &j, name));
        s.drive();
        forks[stopped].request_stop();
        EXPECT_TRUE(j.lines().empty()) << "it is queued, not run";
        s.drive();
        lines expected{names[stopped] + " dies"};
        EXPECT_EQ(j.lines(), expected);
        held.unlock();
        s.drive();
        for (std::size_t i = 0; i < 3; ++i) {
            if (i == stopped) continue;
            expected.push_back(names[i] + " has it");
            expected.push_back(names[i] + " dies");
        }
        EXPECT_EQ(j.lines(), expected);
        EXPECT_TRUE(m.try_lock());
    }
}

TEST(mutex_stop, of_all_that_wait_leaves_a_mutex_that_is_only_locked) {
    by_hand s;
    mutex m;
    journal j;
    mutex::guard held = m.try_lock();
    {
        auto a = enters(s.env, borrowed(m), &j, "a");
        auto b = enters(s.env, borrowed(m), &j, "b");
        s.drive();
        s.env.request_stop();
        s.drive();
    }
    EXPECT_EQ(j.lines().size(), 2U) << "both are stopped";
    EXPECT_FALSE(m.try_lock());
    held.unlock();
    EXPECT_EQ(s.executor.pending(), 0U);
    EXPECT_TRUE(m.try_lock());
}

TEST(mutex_stop, after_the_hand_over_takes_nothing_back) {
    by_hand s;
    mutex m;
    journal j;
    mutex::guard held = m.try_lock();
    auto f = enters(s.env, borrowed(m), &j, "f");
    s.drive();
    held.unlock();
    f.request_stop();
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"f has it", "f dies"})) << "what has completed stays completed";
    EXPECT_TRUE(m.try_lock());
}

TEST(mutex_stop, while_the_guard_is_kept_across_a_suspension_unlocks) {
    by_hand s;
    mutex m;
    coflux::manual_reset_event leave;
    auto f = enters_and_waits(s.env, borrowed(m), borrowed(leave));
    s.drive();
    EXPECT_FALSE(m.try_lock());
    f.request_stop();
    s.drive();
    EXPECT_TRUE(f.done());
    EXPECT_TRUE(m.try_lock());
}

TEST(mutex, may_be_awaited_as_an_outcome) {
    by_hand s;
    mutex m;
    const auto root = [](coflux::environment&, borrowed<mutex> of) -> coflux::task<bool, hand> {
        auto got = co_await coflux::as_outcome(of->lock());
        const mutex::guard guard = std::move(got).value();
        co_return guard.owns_lock_on(*of);
    };
    mutex::guard held = m.try_lock();
    auto t = root(s.env, borrowed(m));
    s.drive();
    EXPECT_FALSE(t.done());
    held.unlock();
    s.drive();
    EXPECT_TRUE(t.get());
}

TEST(mutex, of_coroutines_without_an_executor_is_handed_over_too) {
    auto env = coflux::make_environment(coflux::noop_executor{});
    const auto root = [](coflux::environment&) -> coflux::task<int, coflux::noop_executor> {
        auto&& here = co_await coflux::context();
        mutex m;
        mutex::guard held = co_await m.lock();
        int entered = 0;
        const auto enter = [](coflux::environment&, borrowed<mutex> of,
                              borrowed<int> count) -> coflux::fork<void, coflux::noop_executor> {
            const mutex::guard guard = co_await of->lock();
            ++*count;
        };
        auto a = enter(here, borrowed(m), borrowed(entered));
        auto b = enter(here, borrowed(m), borrowed(entered));
        EXPECT_EQ(entered, 0);
        held.unlock();
        co_await coflux::when_all(std::move(a), std::move(b));
        co_return entered;
    };
    EXPECT_EQ(root(env).get(), 2);
}

TEST(mutex, may_be_unlocked_by_a_thread_that_runs_no_coroutines) {
    by_hand s;
    mutex m;
    journal j;
    mutex::guard held = m.try_lock();
    auto f = enters(s.env, borrowed(m), &j, "f");
    s.drive();
    std::thread([moved = std::move(held)]() mutable { moved.unlock(); }).join();
    EXPECT_TRUE(j.lines().empty()) << "it is queued on its executor, not run by that thread";
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"f has it", "f dies"}));
}

coflux::task<bool, hand> takes_both(coflux::environment&, borrowed<mutex> first, borrowed<mutex> second) {
    auto [a, b] = co_await coflux::when_all(first->lock(), second->lock());
    co_return a.owns_lock_on(*first) && b.owns_lock_on(*second);
}

TEST(mutex, may_be_awaited_beside_others) {
    by_hand s;
    mutex first;
    mutex second;
    mutex::guard held = second.try_lock();
    auto t = takes_both(s.env, borrowed(first), borrowed(second));
    s.drive();
    EXPECT_FALSE(first.try_lock());
    held.unlock();
    s.drive();
    EXPECT_TRUE(t.get());
    EXPECT_TRUE(first.try_lock());
}

coflux::fork<void, pool> counts(coflux::environment&, borrowed<mutex> m, borrowed<std::size_t> sum,
                                std::size_t rounds) {
    for (std::size_t i = 0; i < rounds; ++i) {
        mutex::guard guard = co_await m->lock();
        ++*sum;  // not atomic: the lock is all that orders it
        if (i % 7 == 0) co_await coflux::yield();
    }
}

TEST(mutex, keeps_two_threads_apart) {
    constexpr std::size_t rounds = coflux_test::repetitions(200'000);
    pool threads{2};
    auto env = coflux::make_environment(threads);
    const auto root = [](coflux::environment&) -> coflux::task<std::size_t, pool> {
        auto&& here = co_await coflux::context();
        mutex m;
        std::size_t sum = 0;
        std::vector<coflux::fork<void, pool>> all;
        for (int i = 0; i < 4; ++i) all.push_back(counts(here, borrowed(m), borrowed(sum), rounds));
        co_await coflux::when_all(std::move(all));
        co_return sum;
    };
    EXPECT_EQ(root(env).get(), 4 * rounds);
}

/// Locks a mutex that another coroutine, on another thread, is about to unlock, and destroys it at once.
coflux::fork<void, thread_executor> destroys(coflux::environment&, std::unique_ptr<mutex> m,
                                             borrowed<coflux::latch> begun, std::size_t dawdles) {
    begun->count_down();
    for (std::size_t i = 0; i < dawdles % 31; ++i) coflux::detail::cpu_pause();
    mutex::guard guard = co_await m->lock();
    guard.unlock();
    m.reset();
}

TEST(mutex, may_be_destroyed_by_the_next_owner_while_unlock_returns) {
    constexpr std::size_t rounds = coflux_test::repetitions(40'000);
    pool threads{1};
    thread_executor other;
    auto env = coflux::make_environment(threads, other);
    const auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (std::size_t i = 0; i < rounds; ++i) {
            auto m = std::make_unique<mutex>();
            mutex::guard held = m->try_lock();
            coflux::latch begun(1);
            auto f = destroys(here, std::move(m), borrowed(begun), i / 31);
            co_await begun.wait();
            for (std::size_t k = 0; k < i % 31; ++k) coflux::detail::cpu_pause();
            held.unlock();
            co_await std::move(f);
        }
    };
    root(env).get();
}

void dies_locked() {
    coflux_test::die_rather_than_hang();
    std::optional<mutex> m(std::in_place);
    const mutex::guard held = m->try_lock();
    m.reset();
}
void unlocks_nothing() {
    mutex::guard none;
    none.unlock();
}

TEST(mutex_death, of_one_that_is_locked_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(dies_locked(), "a mutex was destroyed while it is locked or coroutines wait for it");
}
TEST(mutex_death, unlock_of_an_empty_guard_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(unlocks_nothing(), "unlock\\(\\) of a guard that owns no lock");
}

}  // namespace
