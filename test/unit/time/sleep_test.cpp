#include <coflux/time/sleep.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/cpu_clock.hpp"
#include "support/executors.hpp"
#include "support/iterations.hpp"
#include "support/witness.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux_test::flag;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::mortal;
using coflux_test::thread_executor;
using clock = std::chrono::steady_clock;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;
using lines = std::vector<std::string>;

/// By how much a sleep of `d` was longer.
template <typename E>
coflux::task<std::chrono::nanoseconds, E> sleeps(auto&&, std::chrono::nanoseconds d) {
    const auto begin = clock::now();
    co_await coflux::sleep_for(d);
    co_return clock::now() - begin - d;
}

TEST(sleep, is_never_early_on_a_pool) {
    pool threads(2);
    auto env = coflux::make_environment(threads);
    for (const auto d : {1ns, 1000ns, 999'999ns, 3'000'000ns}) EXPECT_GE(sleeps<pool>(env, d).get().count(), 0);
}

TEST(sleep, is_never_early_without_a_pool) {
    thread_executor other;
    auto env = coflux::make_environment(other, noop{});
    for (const auto d : {1ns, 1000ns, 999'999ns, 3'000'000ns}) {
        EXPECT_GE(sleeps<thread_executor>(env, d).get().count(), 0);
        EXPECT_GE(sleeps<noop>(env, d).get().count(), 0);
    }
}

TEST(sleep, resumes_on_its_own_executor) {
    thread_executor other;
    auto env = coflux::make_environment(other);
    auto t = [](auto&&, std::thread::id own) -> coflux::task<bool, thread_executor> {
        co_await 1ms;
        co_return std::this_thread::get_id() == own;
    }(env, other.id());
    EXPECT_TRUE(t.get());
}

TEST(sleep, queues_its_coroutine_and_does_not_run_it) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto t = sleeps<manual_executor>(env, 1us);
    ASSERT_TRUE(by_hand.run_one());
    while (by_hand.pending() == 0) std::this_thread::yield();
    EXPECT_FALSE(t.done());
    by_hand.run_all();
    EXPECT_GE(t.get().count(), 0);
}

coflux::fork<void, pool> writes(auto&&, journal* log, std::string name, clock::time_point when) {
    co_await coflux::sleep_until(when);
    log->write(std::move(name));
}

TEST(sleep, ends_in_the_order_of_deadlines_and_equal_ones_in_the_order_of_their_begin) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    journal log;
    [](auto&&, journal* to) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        bool all_slept = false;
        for (auto after = 50ms; !all_slept; after *= 2) {
            to->clear();
            const auto when = clock::now() + after;
            auto later = writes(here, to, "later", when + 2ms);
            co_await coflux::yield();
            auto first = writes(here, to, "first", when);
            co_await coflux::yield();
            auto second = writes(here, to, "second", when);
            co_await coflux::yield();
            all_slept = clock::now() < when;  // else the machine is busy: again, and longer
            co_await coflux::when_all(std::move(later), std::move(first), std::move(second));
        }
    }(env, &log)
                                   .get();
    EXPECT_EQ(log.lines(), (lines{"first", "second", "later"}));
}

TEST(sleep, of_no_time_lets_the_others_run) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    journal log;
    [](auto&&, journal* to) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        auto other = [](auto&&, journal* log) -> coflux::fork<void, pool> {
            log->write("other");
            co_return;
        }(here, to);
        co_await 0ms;
        to->write("after 0 ms");
        co_await -5s;
        co_await coflux::sleep_until(clock::time_point());
        co_await coflux::sleep_for(std::chrono::duration<double>(-1.0));
        co_await std::move(other);
    }(env, &log)
                                   .get();
    EXPECT_EQ(log.lines(), (lines{"other", "after 0 ms"}));
}

TEST(sleep, of_no_time_goes_on_at_once_where_there_is_no_executor) {
    auto env = coflux::make_environment(noop{});
    auto t = [](auto&&) -> coflux::task<std::thread::id, noop> {
        co_await 0ms;
        co_return std::this_thread::get_id();
    }(env);
    EXPECT_TRUE(t.done());
    EXPECT_EQ(t.get(), std::this_thread::get_id());
}

TEST(sleep, until_a_moment_of_another_clock_ends_after_it) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    auto t = [](auto&&) -> coflux::task<bool, pool> {
        const auto when = std::chrono::system_clock::now() + 2ms;
        co_await coflux::sleep_until(when);
        co_return std::chrono::system_clock::now() >= when;
    }(env);
    EXPECT_TRUE(t.get());
}

template <typename E>
coflux::fork<void, E> sleeps_long(auto&&, journal* log, std::string name, flag* begun) {
    const mortal local(*log, name);
    begun->set();
    co_await 10h;
    log->write("woken");
}

/// Stops a sleeper from the test's own thread.
template <typename E>
void stops_from_outside(E& executor) {
    auto env = coflux::make_environment(executor);
    journal log;
    flag begun;
    auto t = [](auto&&, journal* to, flag* when) -> coflux::task<bool, E> {
        auto&& here = co_await coflux::context();
        auto end = co_await coflux::as_outcome(sleeps_long<E>(here, to, "sleeper", when));
        co_return end.is_stopped();
    }(env, &log, &begun);
    begun.wait();
    t.request_stop();
    t.join();
    EXPECT_EQ(log.lines(), lines{"sleeper dies"});
}

TEST(sleep, ends_when_another_thread_requests_a_stop) {
    for (unsigned round = 0; round < 200; ++round) {
        pool threads(1);
        stops_from_outside(threads);
    }
}

TEST(sleep, outside_a_pool_ends_when_another_thread_requests_a_stop) {
    thread_executor other;
    for (unsigned round = 0; round < 200; ++round) stops_from_outside(other);
}

TEST(sleep, without_an_executor_ends_when_another_thread_requests_a_stop) {
    auto env = coflux::make_environment(noop{});
    journal log;
    flag begun;
    auto sleeper = sleeps_long<noop>(env, &log, "sleeper", &begun);
    EXPECT_FALSE(sleeper.done());
    std::thread([&] { env.request_stop(); }).join();
    EXPECT_TRUE(sleeper.done());
    EXPECT_EQ(log.lines(), lines{"sleeper dies"});
}

TEST(sleep, ends_when_its_own_worker_requests_a_stop) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    journal log;
    flag begun;
    auto t = [](auto&&, journal* to, flag* when) -> coflux::task<bool, pool> {
        auto&& here = co_await coflux::context();
        auto sleeper = sleeps_long<pool>(here, to, "sleeper", when);
        co_await coflux::yield();
        EXPECT_TRUE(when->is_set());
        sleeper.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(sleeper));
        co_return end.is_stopped();
    }(env, &log, &begun);
    EXPECT_TRUE(t.get());
    EXPECT_EQ(log.lines(), lines{"sleeper dies"});
}

TEST(sleep, does_not_begin_when_a_stop_was_requested_before) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto t = sleeps<manual_executor>(env, std::chrono::hours(1));
    t.request_stop();
    by_hand.run_all();
    EXPECT_TRUE(t.done());
    t.join();
}

TEST(sleep, that_has_ended_stays_ended_when_a_stop_comes_later) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto t = sleeps<manual_executor>(env, 1us);
    ASSERT_TRUE(by_hand.run_one());
    while (by_hand.pending() == 0) std::this_thread::yield();
    t.request_stop();
    by_hand.run_all();
    EXPECT_GE(t.get().count(), 0) << "it was woken before";
}

coflux::fork<void, pool> sleeps_about(auto&&, unsigned microseconds, borrowed<std::atomic<std::size_t>> woken) {
    co_await coflux::sleep_for(std::chrono::microseconds(microseconds));
    woken->fetch_add(1, std::memory_order_relaxed);
}

TEST(sleep, of_many_that_race_with_a_stop_ends_for_each_exactly_once) {
    pool threads(2);
    std::mt19937 random(7);
    const std::size_t rounds = coflux_test::repetitions(200) + 10;
    std::size_t stopped_rounds = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
        auto env = coflux::make_environment(threads);
        std::atomic<std::size_t> woken{0};
        auto t = [](auto&&, unsigned seed, borrowed<std::atomic<std::size_t>> count) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            std::mt19937 random(seed);
            std::vector<coflux::fork<void, pool>> all;
            for (int i = 0; i < 50; ++i) all.push_back(sleeps_about(here, random() % 300, count));
            co_await coflux::when_all(std::move(all));
        }(env, random(), borrowed(woken));
        for (unsigned pauses = random() % 8000; pauses != 0; --pauses) coflux::detail::cpu_pause();
        t.request_stop();
        t.join();
        stopped_rounds += woken.load() < 50 ? 1 : 0;
    }
    EXPECT_GT(stopped_rounds, 0U) << "the stop always came too late: nothing was tested";
}

TEST(sleep, goes_on_after_its_coroutine_has_moved_between_workers) {
    pool threads(2);
    auto env = coflux::make_environment(threads);
    std::atomic<std::size_t> woken{0};
    [](auto&&, borrowed<std::atomic<std::size_t>> count) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        std::vector<coflux::fork<void, pool>> all;
        for (unsigned i = 0; i < 64; ++i) {
            all.push_back([](auto&&, unsigned seed, borrowed<std::atomic<std::size_t>> n) -> coflux::fork<void, pool> {
                std::mt19937 random(seed);
                for (int nap = 0; nap < 20; ++nap) {
                    co_await coflux::sleep_for(std::chrono::microseconds(random() % 200));
                    co_await coflux::yield();
                }
                n->fetch_add(1, std::memory_order_relaxed);
            }(here, i, count));
        }
        co_await coflux::when_all(std::move(all));
    }(env, borrowed(woken))
                                                                .get();
    EXPECT_EQ(woken.load(), 64U);
}

TEST(sleep, in_a_call_and_in_a_derived_environment_is_stopped_with_what_is_above) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    flag begun;
    auto t = [](auto&&, flag* when) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        co_await [](auto&&, flag* set) -> coflux::call<void> {
            set->set();
            co_await 10h;
        }(here, when);
        ADD_FAILURE() << "goes on";
    }(env, &begun);
    begun.wait();
    t.request_stop();
    t.join();
}

TEST(sleep, of_a_thousand_hours_costs_no_cpu) {
    pool threads(2);
    auto env = coflux::make_environment(threads);
    auto t = sleeps<pool>(env, std::chrono::hours(1000));
    (void)sleeps<pool>(env, 50ms).get();
    EXPECT_TRUE(coflux_test::comes_to_rest(0.01, 200ms));
    t.request_stop();
    t.join();
}

template <typename Clock, typename Duration>
coflux::task<bool, pool> is_over_in_time(auto&&, std::chrono::time_point<Clock, Duration> t,
                                         std::chrono::nanoseconds limit) {
    co_return co_await coflux::timeout(coflux::sleep_until(t), limit);
}

template <typename TimePoint>
void the_first_is_over_and_the_last_never_comes() {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    EXPECT_TRUE(is_over_in_time(env, TimePoint::min(), 1h).get());
    EXPECT_FALSE(is_over_in_time(env, TimePoint::max(), 100us).get());
}

TEST(sleep, until_the_first_moment_of_a_clock_is_over_and_until_its_last_never) {
    using namespace std::chrono;
    the_first_is_over_and_the_last_never_comes<steady_clock::time_point>();
    the_first_is_over_and_the_last_never_comes<time_point<steady_clock, hours>>();
    the_first_is_over_and_the_last_never_comes<system_clock::time_point>();
    the_first_is_over_and_the_last_never_comes<time_point<system_clock, hours>>();
    the_first_is_over_and_the_last_never_comes<sys_seconds>();
    the_first_is_over_and_the_last_never_comes<sys_days>();
    the_first_is_over_and_the_last_never_comes<file_clock::time_point>();
}

}  // namespace
