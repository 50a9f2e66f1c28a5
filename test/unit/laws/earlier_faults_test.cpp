// The faults of the earlier implementation, each as a test that its cause would fail.
#include <coflux/coflux.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/foreign_event.hpp"
#include "support/iterations.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::foreign_event;
using coflux_test::foreign_thread;
using coflux_test::journal;
using coflux_test::manual_executor;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

// --- a noop parent that awaits a child that suspends -----------------------------------------------------------------

coflux::fork<int, pool> suspending_child(coflux::environment&) {
    for (int i = 0; i < 3; ++i) co_await coflux::yield();
    co_return 21;
}

coflux::task<int, noop> noop_parent(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const int first = co_await suspending_child(here);
    const int second = co_await suspending_child(here);
    co_return first + second;
}

TEST(earlier_faults, a_noop_parent_that_awaits_a_suspending_child_does_not_deadlock) {
    for (const std::size_t threads : {1U, 2U}) {
        pool workers(threads);
        auto env = coflux::make_environment(workers);
        EXPECT_EQ(noop_parent(env).get(), 42);
    }
}

coflux::fork<int, noop> noop_child_that_waits(coflux::environment&, foreign_event* event) {
    co_await *event;
    co_return 42;
}

coflux::task<int, noop> noop_family(coflux::environment&, foreign_event* event) {
    auto&& here = co_await coflux::context();
    co_return co_await noop_child_that_waits(here, event);
}

TEST(earlier_faults, a_noop_parent_of_a_noop_child_that_suspends_does_not_deadlock_without_any_executor) {
    auto env = coflux::make_environment();
    foreign_event event;
    auto root = noop_family(env, &event);
    EXPECT_FALSE(root.done());
    event.set();
    EXPECT_EQ(root.get(), 42);
}

// --- a pool of one thread --------------------------------------------------------------------------------------------

coflux::fork<void, pool> leaf(coflux::environment&, std::atomic<int>* count) {
    co_await coflux::yield();
    count->fetch_add(1, std::memory_order_relaxed);
}

coflux::task<int, pool> sub_task(coflux::environment&, std::atomic<int>* count) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 5; ++i) leaf(here, count).attach();
    co_return 1;
}

coflux::task<int, pool> root_with_sub_tasks(coflux::environment&, std::atomic<int>* count) {
    auto&& here = co_await coflux::context();
    auto awaited = sub_task(here, count);
    auto left_alone = sub_task(here, count);
    leaf(here, count).attach();
    auto never_awaited = leaf(here, count);
    co_return co_await std::move(awaited);
}

TEST(earlier_faults, a_pool_of_one_thread_with_unawaited_forks_and_sub_tasks_does_not_deadlock) {
    pool one(1);
    auto env = coflux::make_environment(one);
    std::atomic<int> count{0};
    EXPECT_EQ(root_with_sub_tasks(env, &count).get(), 1);
    EXPECT_EQ(count.load(), 12);
}

// --- foreign awaitables ----------------------------------------------------------------------------------------------

template <typename E>
coflux::fork<int, E> awaits_foreign(coflux::environment&, foreign_thread* other) {
    co_return co_await *other;
}

template <typename E>
coflux::task<int, E> fork_of_foreign(coflux::environment&, foreign_thread* a, foreign_thread* b) {
    auto&& here = co_await coflux::context();
    const int first = co_await awaits_foreign<E>(here, a);
    auto x = awaits_foreign<E>(here, a);
    auto y = awaits_foreign<E>(here, b);
    auto [second, third] = co_await coflux::when_all(std::move(x), std::move(y));
    auto [fourth, fifth] = co_await coflux::when_all(*a, *b);
    co_return first + second + third + fourth + fifth;
}

TEST(earlier_faults, a_foreign_awaitable_in_a_fork_and_under_when_all_is_waited_for) {
    foreign_thread a;
    foreign_thread b;
    {
        pool workers(1);
        auto env = coflux::make_environment(workers);
        EXPECT_EQ(fork_of_foreign<pool>(env, &a, &b).get(), 5 * 42);
        EXPECT_EQ(fork_of_foreign<noop>(env, &a, &b).get(), 5 * 42);
    }
    auto env = coflux::make_environment();
    EXPECT_EQ(fork_of_foreign<noop>(env, &a, &b).get(), 5 * 42);
}

// --- many views on one failing fork ----------------------------------------------------------------------------------

coflux::fork<int, pool> fails_late(coflux::environment&) {
    co_await coflux::yield();
    throw std::runtime_error("seen by all");
}

coflux::fork<bool, pool> sees_the_error(coflux::environment&, coflux::fork_view<int> view) {
    try {
        (void)co_await view;
    } catch (const std::runtime_error& e) {
        co_return std::string(e.what()) == "seen by all";
    }
    co_return false;
}

coflux::task<std::size_t, pool> many_views(coflux::environment&, std::size_t count) {
    auto&& here = co_await coflux::context();
    auto f = fails_late(here);
    std::vector<coflux::fork<bool, pool>> readers;
    for (std::size_t i = 0; i < count; ++i) readers.push_back(sees_the_error(here, f.view()));
    std::size_t seen = 0;
    for (const bool saw : co_await coflux::when_all(std::move(readers))) seen += saw ? 1 : 0;
    auto late = sees_the_error(here, f.view());
    seen += co_await std::move(late) ? 1 : 0;
    co_return seen;
}

TEST(earlier_faults, each_of_many_views_on_one_failing_fork_gets_its_error) {
    pool workers(2);
    auto env = coflux::make_environment(workers);
    EXPECT_EQ(many_views(env, 100).get(), 101U);
}

// --- the frames of a long loop ---------------------------------------------------------------------------------------

coflux::fork<std::size_t, pool> small_child(coflux::environment&, std::size_t i) {
    co_return i;
}

coflux::task<std::size_t, pool> long_loop(coflux::environment&, coflux::counting_resource* frames) {
    auto&& here = co_await coflux::context();
    std::size_t most = 0;
    for (std::size_t i = 0; i < 300'000; ++i) {
        (void)co_await small_child(here, i);
        most = std::max(most, frames->live());
    }
    co_return most;
}

TEST(earlier_faults, three_hundred_thousand_awaited_forks_leave_no_frame_behind) {
    pool workers(2);
    coflux::counting_resource frames;
    auto env = coflux::make_environment(&frames, workers);
    EXPECT_LE(long_loop(env, &frames).get(), 2U);
    EXPECT_LT(frames.peak_bytes(), 4096U);
}

// An await chain 100 000 deep is in law_06_chain_test.cpp, in all its forms; here is the one that overflowed.

coflux::fork<std::size_t, pool> deep(coflux::environment&, std::size_t left) {
    auto&& here = co_await coflux::context();
    if (left == 0) co_return 0;
    co_return 1 + co_await deep(here, left - 1);
}

TEST(earlier_faults, an_await_chain_100_000_deep_does_not_overflow_the_stack) {
    pool workers(2);
    auto env = coflux::make_environment(workers);
    auto root = [](coflux::environment&) -> coflux::task<std::size_t, pool> {
        auto&& here = co_await coflux::context();
        co_return co_await deep(here, 100'000);
    }(env);
    EXPECT_EQ(root.get(), 100'000U);
}

// --- shutdown --------------------------------------------------------------------------------------------------------

coflux::fork<void, pool> work(coflux::environment&, std::atomic<std::size_t>* done) {
    co_await coflux::yield();
    done->fetch_add(1, std::memory_order_relaxed);
}

TEST(earlier_faults, queued_work_at_shutdown_is_neither_lost_nor_leaked) {
    constexpr std::size_t count = 10'000;
    for (const std::size_t threads : {1U, 2U}) {
        coflux::counting_resource frames;
        std::atomic<std::size_t> done{0};
        {
            auto workers = std::make_unique<pool>(threads);
            auto env = coflux::make_environment(&frames, *workers);
            for (std::size_t i = 0; i < count; ++i) work(env, &done).attach();
            workers.reset();  // while most of it is still queued
        }
        EXPECT_EQ(done.load(), count);
        EXPECT_EQ(frames.live(), 0U);
    }
}

// --- a callback that throws ------------------------------------------------------------------------------------------

TEST(earlier_faults, a_throwing_callback_fails_the_scope_and_nothing_else) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto root = [](coflux::environment&) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto f = [](coflux::environment&) -> coflux::fork<int, manual_executor> {
            co_await coflux::yield();
            co_return 8;
        }(here);
        bool second_called = false;
        f.on_value([](int) { throw std::runtime_error("from a callback"); });
        f.on_value([&second_called](int) { second_called = true; });
        EXPECT_EQ(co_await std::move(f), 8);
        EXPECT_TRUE(second_called);
    }(env);
    by_hand.run_all();
    ASSERT_TRUE(root.done());
    try {
        root.get();
        ADD_FAILURE() << "the callback's error is lost";
    } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "from a callback");
    }
}

// --- siblings created at once through one environment ----------------------------------------------------------------

coflux::task<std::size_t, pool> sibling(coflux::environment&, std::size_t i) {
    co_await coflux::yield();
    co_return i;
}

TEST(earlier_faults, several_threads_may_make_roots_in_one_environment_at_once) {
    constexpr std::size_t each = 2'000;
    pool workers(2);
    coflux::counting_resource frames;
    {
        auto env = coflux::make_environment(&frames, workers);
        std::vector<std::thread> makers;
        std::atomic<std::size_t> sum{0};
        for (int m = 0; m < 3; ++m) {
            makers.emplace_back([&env, &sum] {
                for (std::size_t i = 0; i < each; i += 4) {
                    auto a = sibling(env, i);
                    auto b = sibling(env, i + 1);
                    auto c = sibling(env, i + 2);
                    sum += b.get() + a.get() + c.get();
                    sum += sibling(env, i + 3).get();
                }
            });
        }
        for (std::thread& maker : makers) maker.join();
        EXPECT_EQ(sum.load(), 3 * (each * (each - 1) / 2));
    }
    EXPECT_EQ(frames.live(), 0U);
}

coflux::fork<void, pool> made_by_a_sibling(coflux::environment&, std::atomic<std::size_t>* count) {
    count->fetch_add(1, std::memory_order_relaxed);
    co_return;
}

coflux::fork<void, pool> makes_siblings(coflux::environment& family, std::atomic<std::size_t>* count, int left) {
    for (int i = 0; i < 50; ++i) made_by_a_sibling(family, count).attach();
    if (left > 0) makes_siblings(family, count, left - 1).attach();
    co_return;
}

coflux::task<void, pool> family_of_makers(coflux::environment&, std::atomic<std::size_t>* count) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 4; ++i) makes_siblings(here, count, 20).attach();
    for (int i = 0; i < 50; ++i) co_await made_by_a_sibling(here, count);
}

TEST(earlier_faults, several_coroutines_may_make_children_of_one_scope_at_once) {
    for (const std::size_t threads : {1U, 2U}) {
        pool workers(threads);
        coflux::counting_resource frames;
        {
            auto env = coflux::make_environment(&frames, workers);
            std::atomic<std::size_t> count{0};
            family_of_makers(env, &count).get();
            EXPECT_EQ(count.load(), 4U * 21 * 50 + 50);
        }
        EXPECT_EQ(frames.live(), 0U);
    }
}

}  // namespace
