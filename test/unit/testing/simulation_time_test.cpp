// Time in a simulation: it passes only when all wait for it, exactly, and in order.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::testing::fifo_chooser;
using coflux::testing::random_chooser;
using coflux::testing::sim_executor;
using coflux::testing::simulation;

coflux::task<void, sim_executor> sleeps(auto&&, std::chrono::nanoseconds d) {
    co_await coflux::sleep_for(d);
}

TEST(SimulationTime, LetsAYearPassAtOnceAndExactly) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on(sim);
    auto env = coflux::make_environment(on);
    sleeps(env, 24h * 365).get();
    EXPECT_EQ(sim.elapsed(), 24h * 365);
}

coflux::task<void> sleeps_anywhere(auto&&, std::chrono::nanoseconds d) {
    co_await coflux::sleep_for(d);
}
TEST(SimulationTime, PassesForATaskWithoutAnExecutor) {
    fifo_chooser fifo;
    simulation sim(fifo);
    auto env = coflux::make_environment();
    sleeps_anywhere(env, 1s).get();
    EXPECT_EQ(sim.elapsed(), 1s);
}

TEST(SimulationTime, BeginsAtTheSameMomentInEachRun) {
    fifo_chooser fifo;
    std::set<coflux::clock::time_point> starts;
    for (int i = 0; i < 3; ++i) {
        simulation sim(fifo);
        starts.insert(coflux::clock::now());
        EXPECT_EQ(sim.now(), coflux::clock::now());
        sim.advance(5s);
        EXPECT_EQ(sim.elapsed(), 5s);
    }
    EXPECT_EQ(starts.size(), 1U);
    EXPECT_EQ(starts.begin()->time_since_epoch(), 1s);
}

TEST(SimulationTime, TheClockIsTheSystemsOutsideOfOne) {
    const auto before = std::chrono::steady_clock::now();
    const auto shown = coflux::clock::now();
    EXPECT_GE(shown, before);
    EXPECT_LE(shown, std::chrono::steady_clock::now());
}

coflux::fork<void, sim_executor> notes_after(auto&&, borrowed<std::vector<int>> order, std::chrono::nanoseconds d,
                                             int n) {
    co_await coflux::sleep_for(d);
    order->push_back(n);
}

coflux::task<std::vector<int>, sim_executor> notes_three(auto&&, bool ties) {
    auto&& here = co_await coflux::context();
    std::vector<int> order;
    auto a = notes_after(here, borrowed(order), ties ? 1s : 3s, 3);
    auto b = notes_after(here, borrowed(order), 1s, 1);
    auto c = notes_after(here, borrowed(order), ties ? 1s : 2s, 2);
    co_await coflux::when_all(std::move(a), std::move(b), std::move(c));
    co_return order;
}

TEST(SimulationTime, WakesSleepersInTheOrderOfTheirDeadlinesWhicheverChooserDecides) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        random_chooser random(seed);
        simulation sim(random);
        sim_executor on;
        auto env = coflux::make_environment(on);
        EXPECT_EQ(notes_three(env, false).get(), (std::vector<int>{1, 2, 3}));
        EXPECT_EQ(sim.elapsed(), 3s);
    }
}

TEST(SimulationTime, TheOrderOfWhatIsDueAtOnceIsAChoice) {
    std::set<std::vector<int>> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        random_chooser random(seed);
        simulation sim(random);
        sim_executor on;
        auto env = coflux::make_environment(on);
        seen.insert(notes_three(env, true).get());
        EXPECT_EQ(sim.elapsed(), 1s);
    }
    EXPECT_EQ(seen.size(), 6U);
}

coflux::task<void, sim_executor> sleeps_and_goes_on(auto&&, borrowed<std::string> text, char letter) {
    co_await coflux::sleep_for(1s);
    *text += letter;
    co_await coflux::yield();
    *text += letter;
}

TEST(SimulationTime, WhatTheFirstOfThoseWakesMayRunBeforeTheSecondIsWoken) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        random_chooser random(seed);
        simulation sim(random);
        sim_executor on;
        auto env = coflux::make_environment(on);
        std::string text;
        auto a = sleeps_and_goes_on(env, borrowed(text), 'a');
        auto b = sleeps_and_goes_on(env, borrowed(text), 'b');
        a.join();
        b.join();
        seen.insert(text);
    }
    EXPECT_EQ(seen, (std::set<std::string>{"aabb", "abab", "abba", "baab", "baba", "bbaa"}));
}

coflux::fork<void, sim_executor> wakes_then_yields(auto&&, borrowed<bool> ran) {
    co_await coflux::sleep_for(1s);
    *ran = true;
}

coflux::fork<bool, sim_executor> sees_whether_stopped(auto&&, borrowed<bool> ran) {
    auto&& here = co_await coflux::context();
    auto late = [](auto&&) -> coflux::fork<void, sim_executor> { co_await coflux::sleep_for(1h); };
    auto f = late(here);
    (void)co_await coflux::timeout(std::move(f), 1s);
    co_return *ran;
}

/// A timeout and a sleep that are due at the same moment: what the sleeper does may come before or after.
coflux::task<bool, sim_executor> sleeps_beside_a_timeout(auto&&) {
    auto&& here = co_await coflux::context();
    bool ran = false;
    auto s = wakes_then_yields(here, borrowed(ran));
    auto t = sees_whether_stopped(here, borrowed(ran));
    const bool before = co_await std::move(t);
    co_await std::move(s);
    co_return before;
}

TEST(SimulationTime, ATimeoutAndASleeperOfTheSameMomentComeInEitherOrder) {
    std::set<bool> seen;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        random_chooser random(seed);
        simulation sim(random);
        sim_executor on;
        auto env = coflux::make_environment(on);
        seen.insert(sleeps_beside_a_timeout(env).get());
        EXPECT_EQ(sim.elapsed(), 1s);
    }
    EXPECT_EQ(seen.size(), 2U);
}

coflux::task<int, sim_executor> counts_ticks(auto&&) {
    coflux::interval every(10ms);
    int ticks = 0;
    const auto end = coflux::clock::now() + 1s;
    for (;;) {
        const auto at = co_await every.next();
        if (at > end) break;
        ++ticks;
        if (at != coflux::clock::now()) co_return -1;
    }
    co_return ticks;
}

TEST(SimulationTime, TicksOfAnIntervalComeAtTheirMoment) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on;
    auto env = coflux::make_environment(on);
    EXPECT_EQ(counts_ticks(env).get(), 100);
    EXPECT_EQ(sim.elapsed(), 1010ms);
}

coflux::task<void, coflux::noop_executor> sleeps_on_no_executor(auto&&) {
    co_await coflux::sleep_for(1h);
}

TEST(SimulationTime, CoroutinesThatNoExecutorRunsSleepInItToo) {
    fifo_chooser fifo;
    simulation sim(fifo);
    coflux::noop_executor noop;
    auto env = coflux::make_environment(noop);
    sleeps_on_no_executor(env).get();
    EXPECT_EQ(sim.elapsed(), 1h);
}

coflux::task<bool, sim_executor> derives_a_deadline(auto&&, std::chrono::nanoseconds from_now) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here, coflux::clock::now() + from_now);
    auto late = [](auto&&) -> coflux::fork<void, sim_executor> { co_await coflux::sleep_for(1h); };
    auto f = late(sub);
    const auto end = co_await coflux::as_outcome(std::move(f));
    co_await sub.join();
    co_return end.is_stopped();
}

TEST(SimulationTime, TheDeadlineOfAnEnvironmentActsInIt) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        random_chooser random(seed);
        simulation sim(random);
        sim_executor on;
        auto env = coflux::make_environment(on);
        EXPECT_TRUE(derives_a_deadline(env, 3s).get());
        EXPECT_EQ(sim.elapsed(), 3s);
        EXPECT_TRUE(derives_a_deadline(env, 0s).get());   // is due at once
        EXPECT_TRUE(derives_a_deadline(env, -1s).get());  // has been for long
        EXPECT_EQ(sim.elapsed(), 3s);
    }
}

TEST(SimulationTime, AdvanceLetsHappenWhatIsDueUntilThenAndNoMore) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on;
    auto env = coflux::make_environment(on);
    auto soon = sleeps(env, 1s);
    auto later = sleeps(env, 5s);
    auto stopped = sleeps(env, 2s);
    sim.advance(0s);
    stopped.request_stop();  // its slot in the wheel stays a bound for a while
    sim.advance(1s - 1ns);
    EXPECT_FALSE(soon.done());
    sim.advance(1ns);
    EXPECT_TRUE(soon.done());
    sim.advance(3s);
    EXPECT_FALSE(later.done());
    EXPECT_EQ(sim.elapsed(), 4s);
    EXPECT_TRUE(sim.step());
    EXPECT_TRUE(later.done());
    EXPECT_EQ(sim.elapsed(), 5s);
    EXPECT_FALSE(sim.step());
}

coflux::task<bool, sim_executor> is_late(auto&&) {
    auto&& here = co_await coflux::context();
    auto works = [](auto&&) -> coflux::fork<void, sim_executor> {
        for (int i = 0; i < 10; ++i) co_await coflux::yield();
    };
    auto f = works(here);
    const auto result = co_await coflux::timeout(std::move(f), 1s);
    co_return !result;
}

TEST(SimulationTime, LateWorkMissesItsDeadlineInSomeRuns) {
    std::set<bool> on_time;
    std::set<bool> late;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        for (const bool slow : {false, true}) {
            random_chooser random(seed);
            simulation sim(random, {.late_work = slow});
            sim_executor on;
            auto env = coflux::make_environment(on);
            (slow ? late : on_time).insert(is_late(env).get());
        }
    }
    EXPECT_EQ(on_time, std::set<bool>{false});
    EXPECT_EQ(late, (std::set<bool>{false, true}));
}

}  // namespace
