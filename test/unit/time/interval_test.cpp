#include <coflux/time/interval.hpp>

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "in_virtual_time.hpp"
#include "support/executors.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::interval;
using coflux::missed_ticks;
using clock = std::chrono::steady_clock;
using pool = coflux::thread_pool_executor;

/// The moments of `n` ticks, from `first` on in periods.
coflux::task<std::vector<clock::time_point>, pool> ticks(auto&&, borrowed<interval> of, int n) {
    std::vector<clock::time_point> all;
    for (int i = 0; i < n; ++i) {
        const auto tick = co_await of->next();
        EXPECT_LE(tick, clock::now()) << "early";
        all.push_back(tick);
    }
    co_return all;
}

TEST(interval, ticks_once_a_period_and_does_not_drift) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    const auto before = clock::now();
    interval tick(500us);
    const auto first = tick.due();
    EXPECT_GE(first, before + 500us);
    const auto all = ticks(env, borrowed(tick), 5).get();
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], first + i * 500us);
    EXPECT_EQ(tick.due(), first + 5 * 500us);
    EXPECT_EQ(tick.period(), 500us);
}

TEST(interval, begins_at_the_moment_given) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    const auto first = clock::now() + 1ms;
    interval tick(first, 200us);
    EXPECT_EQ(ticks(env, borrowed(tick), 2).get(), (std::vector{first, first + 200us}));
}

TEST(interval, gives_all_missed_ticks_in_a_burst) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    const auto first = clock::now() - 1h;
    interval tick(first, 10min);
    const auto all = ticks(env, borrowed(tick), 6).get();
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], first + i * 10min);
}

TEST(interval, with_delay_goes_on_a_period_after_the_late_tick) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    const auto first = clock::now() - 1h;
    interval tick(first, 10min, missed_ticks::delay);
    const auto before = clock::now();
    EXPECT_EQ(ticks(env, borrowed(tick), 1).get(), std::vector{first});
    EXPECT_GE(tick.due(), before + 10min);
    EXPECT_LE(tick.due(), clock::now() + 10min);
}

TEST(interval, with_skip_goes_on_at_the_next_multiple_of_the_period) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    const auto first = clock::now() - 1h;
    interval tick(first, 7min, missed_ticks::skip);
    EXPECT_EQ(ticks(env, borrowed(tick), 1).get(), std::vector{first});
    EXPECT_EQ(tick.due(), first + 9 * 7min);
}

TEST(interval, that_is_not_late_is_the_same_whatever_the_policy) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    for (const auto policy : {missed_ticks::burst, missed_ticks::delay, missed_ticks::skip}) {
        const auto first = clock::now() - 1s;
        interval tick(first, 1h, policy);
        (void)ticks(env, borrowed(tick), 1).get();
        EXPECT_EQ(tick.due(), first + 1h);
    }
}

TEST(interval, that_began_at_the_beginning_of_time_goes_on_at_the_next_multiple) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    for (const auto period : {std::chrono::nanoseconds(7ms), std::chrono::nanoseconds(7h)}) {
        interval tick(clock::time_point::min(), period, missed_ticks::skip);
        const auto before = clock::now();
        EXPECT_EQ(ticks(env, borrowed(tick), 1).get(), std::vector{clock::time_point::min()});
        EXPECT_GT(tick.due(), before);
        EXPECT_LE(tick.due(), clock::now() + period);
        // No sum of nanoseconds reaches from one to the other: two thirds of it, twice, and the rest.
        const auto third = period * (std::chrono::nanoseconds::max() / period / 3);
        EXPECT_EQ((tick.due() - third - (clock::time_point::min() + third)) % period, 0ns);
    }
}

TEST(interval, after_the_longest_period_there_is_no_tick_any_more) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    for (const auto policy : {missed_ticks::burst, missed_ticks::delay, missed_ticks::skip}) {
        interval tick(clock::now(), std::chrono::hours::max(), policy);
        (void)ticks(env, borrowed(tick), 1).get();
        EXPECT_EQ(tick.due(), clock::time_point::max());
        tick.reset();
        EXPECT_EQ(tick.due(), clock::time_point::max());
    }
}

TEST(interval, counts_anew_from_a_reset) {
    interval tick(clock::now() - 1h, 10min);
    const auto before = clock::now();
    tick.reset();
    EXPECT_GE(tick.due(), before + 10min);
}

TEST(interval, does_not_lose_a_tick_to_a_stop) {
    coflux_test::manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    interval tick(10h);
    const auto due = tick.due();
    auto t = [](auto&&, borrowed<interval> of) -> coflux::task<void, coflux_test::manual_executor> {
        (void)co_await of->next();
    }(env, borrowed(tick));
    by_hand.run_all();
    t.request_stop();
    by_hand.run_all();
    t.join();
    EXPECT_EQ(tick.due(), due);
}

TEST(interval, throws_for_a_period_that_is_not_positive) {
    EXPECT_THROW(interval(0ms), std::invalid_argument);
    EXPECT_THROW(interval(clock::now(), -1h), std::invalid_argument);
}

TEST(interval, does_not_lose_a_tick_that_loses_in_a_select) {
    for (const bool waits : {true, false}) {
        coflux_test::virtual_time v;
        [](coflux::environment&, bool waits) -> coflux_test::sim_task {
            const auto first = coflux::clock::now() + (waits ? 1min : -2h);
            interval a(first, 1min);
            interval b(first, 1min);  // both come at the same moments, and one of them loses
            for (int i = 0; i != 60; ++i) {
                const auto due_of_a = a.due();
                const auto due_of_b = b.due();
                auto tick = co_await coflux::select(a.next(), b.next());
                const bool a_wins = tick.index() == 0;
                EXPECT_EQ(a_wins ? get<0>(tick) : get<1>(tick), a_wins ? due_of_a : due_of_b);
                EXPECT_EQ(a.due(), due_of_a + (a_wins ? 1min : 0min));
                EXPECT_EQ(b.due(), due_of_b + (a_wins ? 0min : 1min));
                if (waits) EXPECT_GE(coflux::clock::now(), a_wins ? due_of_a : due_of_b) << "early";
            }
        }(v.env, waits)
                                                    .get();
    }
}

}  // namespace
