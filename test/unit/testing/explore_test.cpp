#include <coflux/testing/explore.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/sim_executor.hpp>

namespace {

using coflux::borrowed;
using coflux::testing::exploration;
using coflux::testing::explore;
using coflux::testing::explore_options;
using coflux::testing::failure_kind;
using coflux::testing::search_kind;
using coflux::testing::sim_executor;
using coflux::testing::simulation;

/// A variable of the environment while it lives.
class variable {
public:
    variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
    ~variable() { unsetenv(name_); }
    variable(const variable&) = delete;
    variable& operator=(const variable&) = delete;

private:
    const char* name_;
};

coflux::fork<void, sim_executor> adds_one(auto&&, borrowed<int> balance) {
    const int seen = *balance;
    co_await coflux::yield();
    *balance = seen + 1;
}

/// Right only where no other coroutine comes between the two halves of adds_one().
coflux::task<int, sim_executor> adds_some(auto&&, int count) {
    auto&& here = co_await coflux::context();
    int balance = 0;
    for (int i = 0; i < count; ++i) {
        auto one = adds_one(here, borrowed(balance));
        co_await std::move(one);
    }
    co_return balance;
}

coflux::task<int, sim_executor> adds_two_at_once(auto&&) {
    auto&& here = co_await coflux::context();
    int balance = 0;
    auto a = adds_one(here, borrowed(balance));
    auto b = adds_one(here, borrowed(balance));
    co_await coflux::when_all(std::move(a), std::move(b));
    co_return balance;
}

void loses_an_update(simulation&) {
    sim_executor on;
    auto env = coflux::make_environment(on);
    const int balance = adds_two_at_once(env).get();
    if (balance != 2) throw std::runtime_error("an update was lost");
}

void is_right(simulation&) {
    sim_executor on;
    auto env = coflux::make_environment(on);
    if (adds_some(env, 3).get() != 3) throw std::runtime_error("wrong");
}

coflux::fork<void, sim_executor> takes_both(auto&&, borrowed<coflux::mutex> first, borrowed<coflux::mutex> second) {
    auto one = co_await first->lock();
    co_await coflux::yield();
    auto two = co_await second->lock();
}

/// Hangs if each has one lock: only where the second begins before the first has both.
coflux::task<void, sim_executor> locks_crosswise(auto&&) {
    auto&& here = co_await coflux::context();
    coflux::mutex a;
    coflux::mutex b;
    auto one = takes_both(here, borrowed(a), borrowed(b));
    co_await coflux::yield();
    co_await coflux::yield();
    auto other = takes_both(here, borrowed(b), borrowed(a));
    co_await coflux::when_all(std::move(one), std::move(other));
}

void may_hang(simulation&) {
    sim_executor on;
    auto env = coflux::make_environment(on);
    locks_crosswise(env).get();
}

TEST(Explore, RunsWhatIsRightUnderDifferentSchedules) {
    const exploration r = explore({.runs = 100}, is_right);
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_EQ(r.runs, 100U);
    EXPECT_GT(r.distinct, 1U);
    EXPECT_FALSE(r.exhausted);
    EXPECT_NE(r.report().find("no failure in 100 runs"), std::string::npos) << r.report();
}

TEST(Explore, FindsAnErrorThatOnlySomeSchedulesShow) {
    const exploration r = explore({.runs = 100}, loses_an_update);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.failure->kind, failure_kind::exception);
    EXPECT_EQ(r.failure->what, "an update was lost");
    EXPECT_THROW(std::rethrow_exception(r.failure->error), std::runtime_error);
}

TEST(Explore, FindsAHangThatFifoDoesNotShow) {
    const exploration fifo = explore({.runs = 1}, may_hang);
    EXPECT_TRUE(fifo.ok()) << fifo.report();
    const exploration r = explore({.runs = 1000}, may_hang);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.failure->kind, failure_kind::deadlock);
    EXPECT_NE(r.failure->what.find("waits for a mutex, held by "), std::string::npos) << r.failure->what;
}

coflux::task<void, sim_executor> waits_for_ever(auto&&, borrowed<coflux::latch> never) {
    co_await never->wait();
}
coflux::task<void, sim_executor> finds_it_wrong(auto&&) {
    co_await coflux::yield();
    throw std::runtime_error("not atomic");
}

TEST(Explore, TellsWhatTheBodyThrewBeforeTheHangThatItLeft) {
    const exploration r = explore({.runs = 5}, [](simulation&) {
        sim_executor on;
        auto env = coflux::make_environment(on);
        coflux::latch never(1);
        auto waits = waits_for_ever(env, borrowed(never));
        finds_it_wrong(env).get();
    });
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.failure->kind, failure_kind::exception);
    EXPECT_THROW(std::rethrow_exception(r.failure->error), std::runtime_error);
    EXPECT_EQ(r.report().find("error: not atomic\nbeside it, deadlock: "), 0U) << r.report();
    EXPECT_NE(r.report().find("waits for a latch"), std::string::npos) << r.report();
}

TEST(Explore, ReplaysASeedAndOnlyThatOne) {
    const exploration found = explore({.runs = 1000}, may_hang);
    ASSERT_FALSE(found.ok());
    const variable seed("COFLUX_SEED", std::to_string(found.failure->seed));
    const exploration again = explore({.runs = 1000}, may_hang);
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.runs, 1U);
    EXPECT_EQ(again.failure->schedule, found.failure->schedule);
    EXPECT_EQ(again.failure->steps, found.failure->steps);
    EXPECT_EQ(explore({.runs = 1000}, is_right).runs, 1U);
}

TEST(Explore, MakesTheScheduleSmall) {
    const exploration r = explore({.runs = 1000, .first_seed = 4}, may_hang);
    ASSERT_FALSE(r.ok());
    std::size_t deviations = 0;
    for (const auto& d : r.failure->schedule) deviations += d.chosen != 0 ? 1 : 0;
    EXPECT_LE(deviations, r.failure->deviations_found);
    EXPECT_LE(deviations, 2U) << r.report();
    EXPECT_GE(deviations, 1U) << r.report();
    EXPECT_LE(r.failure->shrink_runs, 501U);
}

TEST(Explore, ReplaysAScheduleFromItsText) {
    const exploration found = explore({.runs = 1000}, may_hang);
    ASSERT_FALSE(found.ok());
    const std::string replay = found.failure->replay();
    ASSERT_EQ(replay.find("COFLUX_SCHEDULE="), 0U);
    const variable schedule("COFLUX_SCHEDULE", replay.substr(replay.find('=') + 1));
    const exploration again = explore(may_hang);
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.runs, 1U);
    EXPECT_FALSE(again.diverged_at);
    EXPECT_EQ(again.failure->schedule, found.failure->schedule);
}

TEST(Explore, SaysWhereAReplayIsOfAnotherProgram) {
    const variable schedule("COFLUX_SCHEDULE", "0n8/9");
    const exploration r = explore([](simulation& sim) {
        loses_an_update(sim);
        throw std::runtime_error("always");
    });
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.diverged_at, 0U);
    EXPECT_NE(r.report().find("decision 0 has other candidates"), std::string::npos) << r.report();
    EXPECT_NE(r.report().find("found by: COFLUX_SCHEDULE, after 1 run"), std::string::npos) << r.report();
}

TEST(Explore, SaysThatAReplayWhichPassesIsOfAnotherProgram) {
    for (const char* const text : {"0n8/9", "500n1/2"}) {
        const variable schedule("COFLUX_SCHEDULE", text);
        testing::internal::CaptureStderr();
        const exploration r = explore(is_right);
        const std::string told = testing::internal::GetCapturedStderr();
        EXPECT_TRUE(r.ok());
        EXPECT_EQ(r.diverged_at, std::string(text)[0] == '0' ? 0U : 500U);
        EXPECT_NE(r.report().find("another one than that of the schedule"), std::string::npos) << r.report();
        EXPECT_NE(told.find("another one than that of the schedule"), std::string::npos) << told;
    }
    const variable schedule("COFLUX_SCHEDULE", "fifo");
    EXPECT_FALSE(explore(is_right).diverged_at);
}

TEST(Explore, TakesTheNumberOfRunsFromItsEnvironment) {
    const variable runs("COFLUX_RUNS", "17");
    EXPECT_EQ(explore(is_right).runs, 17U);
    EXPECT_EQ(explore({.runs = 3}, is_right).runs, 3U);
}

TEST(Explore, AsksTheVerdictAfterEachRun) {
    int asked = 0;
    explore_options options{.runs = 10};
    options.verdict = [&asked] { return ++asked == 5 ? std::string("the fifth") : std::string(); };
    const exploration r = explore(options, is_right);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.runs, 5U);
    EXPECT_EQ(r.failure->kind, failure_kind::verdict);
    EXPECT_EQ(r.failure->what, "the fifth");
}

coflux::task<void, sim_executor> goes_on_and_on(auto&&) {
    for (;;) co_await coflux::yield();
}

TEST(Explore, CallsARunThatDoesNotEndALivelock) {
    const exploration r = explore({.runs = 10, .simulation = {.max_steps = 1000}}, [](simulation&) {
        sim_executor on;
        auto env = coflux::make_environment(on);
        goes_on_and_on(env).join();
    });
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.failure->kind, failure_kind::livelock);
    EXPECT_NE(r.failure->what.find("goes_on_and_on"), std::string::npos) << r.failure->what;
}

coflux::fork<void, sim_executor> polls(auto&&, borrowed<bool> done) {
    while (!*done) co_await coflux::yield();
}

coflux::task<void, sim_executor> is_polled(auto&&) {
    auto&& here = co_await coflux::context();
    bool done = false;
    auto a = polls(here, borrowed(done));
    auto b = polls(here, borrowed(done));
    co_await coflux::when_all(std::move(a), std::move(b));
}

void polls_for_ever(simulation&) {
    sim_executor on;
    auto env = coflux::make_environment(on);
    is_polled(env).get();
}

TEST(Explore, NamesALoopOnYieldThatDoesNotEnd) {
    const exploration r = explore({.runs = 1, .simulation = {.max_steps = 1000}}, polls_for_ever);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.failure->kind, failure_kind::livelock);
    EXPECT_NE(r.failure->what.find("looks like a spin on yield() in polls at "), std::string::npos) << r.failure->what;
    EXPECT_NE(r.failure->what.find("explore_test.cpp"), std::string::npos) << r.failure->what;
}

coflux::fork<void, sim_executor> returns_the_ball(auto&&, borrowed<coflux::auto_reset_event> mine,
                                                  borrowed<coflux::auto_reset_event> other) {
    for (;;) {
        co_await mine->wait();
        other->set();
    }
}

coflux::task<void, sim_executor> plays_for_ever(auto&&) {
    auto&& here = co_await coflux::context();
    coflux::auto_reset_event left;
    coflux::auto_reset_event right;
    auto a = returns_the_ball(here, borrowed(left), borrowed(right));
    auto b = returns_the_ball(here, borrowed(right), borrowed(left));
    left.set();
    co_await coflux::when_all(std::move(a), std::move(b));
}

TEST(Explore, DoesNotCallASpinWhatWakesOneAnother) {
    const exploration r = explore({.runs = 1, .simulation = {.max_steps = 1000}}, [](simulation&) {
        sim_executor on;
        auto env = coflux::make_environment(on);
        plays_for_ever(env).get();
    });
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.failure->kind, failure_kind::livelock);
    EXPECT_EQ(r.failure->what.find("spin on yield"), std::string::npos) << r.failure->what;
}

TEST(Explore, PutsALongScheduleIntoAFileAndReplaysItFromThere) {
    // Seed 4 chooses at random, so that half of all decisions differ from FIFO.
    const explore_options options{.runs = 1, .first_seed = 4, .simulation = {.max_steps = 20'000}, .shrink_runs = 0};
    const exploration r = explore(options, polls_for_ever);
    ASSERT_FALSE(r.ok());
    const std::string replay = r.failure->replay();
    ASSERT_TRUE(replay.starts_with("COFLUX_SCHEDULE=@")) << replay.substr(0, 200);
    EXPECT_LT(r.report().size(), 4000U);
    const variable schedule("COFLUX_SCHEDULE", replay.substr(replay.find('=') + 1));
    const exploration again = explore(options, polls_for_ever);
    ASSERT_FALSE(again.ok());
    EXPECT_FALSE(again.diverged_at);
    EXPECT_EQ(again.failure->schedule, r.failure->schedule);
    EXPECT_EQ(again.failure->replay(), replay);
    std::remove(replay.substr(replay.find('@') + 1).c_str());
}

TEST(Explore, SpendsABoundedNumberOfResumptionsOnALongRun) {
    std::size_t runs = 0;
    const exploration r =
        explore({.runs = 1, .first_seed = 4, .simulation = {.max_steps = 400'000}}, [&](simulation& in) {
            ++runs;
            polls_for_ever(in);
        });
    ASSERT_FALSE(r.ok());
    EXPECT_LE(runs, 20U);
    if (const std::string replay = r.failure->replay(); replay.find('@') != std::string::npos)
        std::remove(replay.substr(replay.find('@') + 1).c_str());
}

coflux::fork<void, sim_executor> fails(auto&&) {
    co_await coflux::yield();
    throw std::runtime_error("no such directory");
}

coflux::fork<void, sim_executor> waits_for_ever(auto&&) {
    coflux::manual_reset_event never;
    co_await never.wait();
}

/// One child has failed, and the other one never ends.
coflux::task<void, sim_executor> fails_and_hangs(auto&&) {
    auto&& here = co_await coflux::context();
    auto a = fails(here);
    auto b = waits_for_ever(here);
    co_await std::move(b);
    co_await std::move(a);
}

TEST(Explore, ReportsAHangBesideAnUnobservedError) {
    for (const bool asks : {true, false}) {
        const exploration r = explore({.runs = 3}, [asks](simulation&) {
            sim_executor on;
            auto env = coflux::make_environment(on);
            auto root = fails_and_hangs(env);
            if (asks) root.get();
        });
        ASSERT_FALSE(r.ok());
        EXPECT_EQ(r.failure->kind, failure_kind::deadlock);
        EXPECT_NE(r.failure->what.find("waits for a manual_reset_event"), std::string::npos) << r.report();
        EXPECT_NE(r.failure->what.find("an error that was not observed: no such directory"), std::string::npos)
            << r.report();
    }
}

TEST(Explore, CallsAnUnobservedErrorAFailure) {
    const exploration r = explore({.runs = 3}, [](simulation&) {
        sim_executor on;
        auto env = coflux::make_environment(on);
        auto root = [](auto&& inner) -> coflux::task<void, sim_executor> {
            co_await fails(static_cast<coflux::environment&>(inner));
        }(env);
    });
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.failure->kind, failure_kind::exception);
    EXPECT_NE(r.failure->what.find("an error that was not observed: no such directory"), std::string::npos)
        << r.report();
    EXPECT_THROW(std::rethrow_exception(r.failure->error), std::runtime_error);
}

TEST(Explore, LeavesAnErrorToTheHandlerOfItsEnvironment) {
    static int handled = 0;
    handled = 0;
    const exploration r = explore({.runs = 3}, [](simulation&) {
        sim_executor on;
        auto env = coflux::make_environment(on);
        env.on_unobserved_error([](const std::exception_ptr&) noexcept { ++handled; });
        auto root = [](auto&& inner) -> coflux::task<void, sim_executor> {
            co_await fails(static_cast<coflux::environment&>(inner));
        }(env);
    });
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_EQ(handled, 3);
}

TEST(Explore, FindsAHangOfATaskThatDiesUnawaited) {
    const exploration r = explore({.runs = 1}, [](simulation&) {
        sim_executor on;
        auto env = coflux::make_environment(on);
        coflux::manual_reset_event never;
        auto waits = [](auto&&, borrowed<coflux::manual_reset_event> e) -> coflux::task<void, sim_executor> {
            co_await e->wait();
        };
        auto dies = waits(env, borrowed(never));
    });
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.failure->kind, failure_kind::deadlock);
    EXPECT_EQ(r.failure->error, nullptr);
}

TEST(Explore, GoesThroughAllSchedulesOfASmallBody) {
    const exploration all = explore({.runs = 100'000, .search = search_kind::exhaustive}, is_right);
    EXPECT_TRUE(all.ok()) << all.report();
    EXPECT_TRUE(all.exhausted);
    EXPECT_EQ(all.distinct, all.runs);
    const exploration some = explore({.runs = 100'000, .search = search_kind::exhaustive, .deviations = 1}, is_right);
    EXPECT_TRUE(some.exhausted);
    EXPECT_LT(some.runs, all.runs);
    const exploration found = explore({.runs = 100'000, .search = search_kind::exhaustive}, may_hang);
    EXPECT_FALSE(found.ok());
}

TEST(Explore, SaysWhoWasAliveWhenARootFailed) {
    const exploration r = explore({.runs = 1}, [](simulation&) {
        sim_executor on;
        auto env = coflux::make_environment(on);
        coflux::manual_reset_event later;
        auto waits = [](auto&&, borrowed<coflux::manual_reset_event> e) -> coflux::task<void, sim_executor> {
            co_await e->wait();
        };
        auto fails = [](auto&&) -> coflux::task<void, sim_executor> {
            co_await coflux::yield();
            throw std::runtime_error("it fails");
        };
        auto other = waits(env, borrowed(later));
        auto first = fails(env);
        try {
            first.get();
        } catch (...) {
            later.set();
            throw;
        }
    });
    ASSERT_FALSE(r.ok());
    EXPECT_NE(r.failure->tree.find("waits for a manual_reset_event"), std::string::npos) << r.report();
}

TEST(ExploreDeathTest, IsAskedForNoRun) {
    const variable none("COFLUX_RUNS", "0");
    EXPECT_DEATH((void)explore(is_right), "COFLUX_RUNS is 0: nothing would be run");
}

TEST(ExploreDeathTest, PrintsTheSeedWhereACheckFails) {
    EXPECT_DEATH((void)explore({.runs = 1, .first_seed = 7},
                               [](simulation&) {
                                   sim_executor on;
                                   auto env = coflux::make_environment(on);
                                   auto blocks = [](auto&& inner) -> coflux::task<void, sim_executor> {
                                       coflux::environment& outer = inner;
                                       auto yields = [](auto&&) -> coflux::task<void, sim_executor> {
                                           co_await coflux::yield();
                                       };
                                       auto task = yields(outer);
                                       task.join();
                                       co_return;
                                   };
                                   blocks(env).get();
                               }),
                 "a blocking wait(.|\n)*COFLUX_SEED=7");
}

}  // namespace
