#include <coflux/testing/simulation.hpp>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/replay_chooser.hpp>
#include <coflux/testing/sim_executor.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::testing::choice;
using coflux::testing::deadlock_error;
using coflux::testing::fifo_chooser;
using coflux::testing::random_chooser;
using coflux::testing::sim_executor;
using coflux::testing::simulation;

/// The text of a deadlock; empty if there was none.
template <typename F>
std::string text_of_deadlock(F f) {
    try {
        f();
    } catch (const deadlock_error& e) {
        return e.what();
    }
    return {};
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(simulation, decides_what_a_test_asks) {
    fifo_chooser fifo;
    simulation sim(fifo);
    EXPECT_EQ(sim.choose(5), 0U);
    EXPECT_EQ(sim.choose(1), 0U);
    ASSERT_EQ(sim.schedule().size(), 1U);
    EXPECT_EQ(sim.schedule()[0], (coflux::testing::decision{choice::amount, 0, 5}));
    std::set<std::size_t> seen;
    for (std::uint64_t seed = 0; seed != 100; ++seed) {
        random_chooser random(seed);
        simulation other(random);
        seen.insert(other.choose(5));
    }
    EXPECT_EQ(seen, (std::set<std::size_t>{0, 1, 2, 3, 4}));
}

coflux::fork<void, sim_executor> writes(auto&&, borrowed<std::string> to, char letter) {
    co_await coflux::yield();
    *to += letter;
}

coflux::task<std::string, sim_executor> three_write(auto&&) {
    auto&& here = co_await coflux::context();
    std::string text;
    auto a = writes(here, borrowed(text), 'a');
    auto b = writes(here, borrowed(text), 'b');
    auto c = writes(here, borrowed(text), 'c');
    co_await coflux::when_all(std::move(a), std::move(b), std::move(c));
    co_return text;
}

TEST(Simulation, RunsCoroutinesInTheOrderInWhichTheyBecomeReady) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on(sim);
    auto env = coflux::make_environment(on);
    EXPECT_EQ(three_write(env).get().size(), 3U);
    EXPECT_GT(sim.steps(), 3U);
}

TEST(Simulation, ReachesEveryOrderWithRandomChoices) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        random_chooser random(seed);
        simulation sim(random);
        sim_executor on;
        auto env = coflux::make_environment(on);
        seen.insert(three_write(env).get());
    }
    EXPECT_EQ(seen.size(), 6U);
}

TEST(Simulation, TheSameChoicesMakeTheSameRun) {
    std::vector<coflux::testing::decision> schedule;
    std::string text;
    {
        random_chooser random(5);
        simulation sim(random);
        sim_executor on;
        auto env = coflux::make_environment(on);
        text = three_write(env).get();
        schedule = sim.schedule();
    }
    coflux::testing::replay_chooser replay(schedule);
    simulation sim(replay);
    sim_executor on;
    auto env = coflux::make_environment(on);
    EXPECT_EQ(three_write(env).get(), text);
    EXPECT_EQ(sim.schedule(), schedule);
    EXPECT_EQ(replay.diverged_at(), coflux::testing::replay_chooser::nowhere);
}

// --- names

/// FIFO, and remembers what could be chosen.
class watching_chooser final : public coflux::testing::chooser {
public:
    std::size_t choose(choice what, std::span<const std::uint64_t> candidates) noexcept override {
        if (what == choice::next) seen.emplace_back(candidates.begin(), candidates.end());
        return 0;
    }
    std::vector<std::vector<std::uint64_t>> seen;
};

coflux::fork<void, sim_executor> yields(auto&&, int times) {
    for (int i = 0; i < times; ++i) co_await coflux::yield();
}

coflux::task<void, sim_executor> one_pair_after_the_other(auto&&, int pairs) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < pairs; ++i) {
        auto a = yields(here, 3);
        auto b = yields(here, 3);
        co_await coflux::when_all(std::move(a), std::move(b));
    }
}

TEST(Simulation, GivesNoCoroutineTheNameOfADeadOne) {
    watching_chooser watches;
    simulation sim(watches);
    sim_executor on;
    auto env = coflux::make_environment(on);
    one_pair_after_the_other(env, 10).get();  // the frames of a pair lie where those of the pair before did
    std::set<std::vector<std::uint64_t>> pairs;
    for (auto candidates : watches.seen) {
        std::sort(candidates.begin(), candidates.end());
        EXPECT_EQ(std::adjacent_find(candidates.begin(), candidates.end()), candidates.end());
        if (candidates.size() == 2) pairs.insert(candidates);
    }
    EXPECT_EQ(pairs.size(), 10U);
}

/// Runs one name as long as it can, then the next.
class stubborn_chooser final : public coflux::testing::chooser {
public:
    std::size_t choose(choice what, std::span<const std::uint64_t> candidates) noexcept override {
        if (what != choice::next) return 0;
        const auto same = std::find(candidates.begin(), candidates.end(), last_);
        const auto chosen = same != candidates.end() ? same : candidates.begin() + (candidates.size() / 2);
        last_ = *chosen;
        return static_cast<std::size_t>(chosen - candidates.begin());
    }

private:
    std::uint64_t last_ = 0;
};

coflux::task<void, sim_executor> says_often(auto&&, borrowed<std::string> to, char letter) {
    for (int i = 0; i < 3; ++i) {
        *to += letter;
        co_await coflux::yield();
    }
}

TEST(Simulation, RunsTheCoroutineWhoseNameIsChosen) {
    stubborn_chooser stubborn;
    simulation sim(stubborn);
    sim_executor on;
    auto env = coflux::make_environment(on);
    std::string text;
    auto a = says_often(env, borrowed(text), 'a');
    auto b = says_often(env, borrowed(text), 'b');
    auto c = says_often(env, borrowed(text), 'c');
    auto d = says_often(env, borrowed(text), 'd');
    sim.run();
    EXPECT_EQ(text, "cccbbbdddaaa");
    a.join();
    b.join();
    c.join();
    d.join();
}

coflux::call<void> yields_in_a_call(coflux::environment& here, int depth) {
    co_await coflux::yield();
    if (depth > 0) co_await yields_in_a_call(here, depth - 1);
}

coflux::task<void, sim_executor> yields_in_calls(auto&&) {
    auto&& here = co_await coflux::context();
    co_await coflux::yield();
    co_await yields_in_a_call(here, 3);
    co_await coflux::yield();
}

TEST(Simulation, CallsACallByTheNameOfItsCaller) {
    watching_chooser watches;
    simulation sim(watches);
    sim_executor on;
    auto env = coflux::make_environment(on);
    auto a = yields_in_calls(env);
    auto b = yields_in_calls(env);
    a.join();
    b.join();
    std::set<std::uint64_t> names;
    for (const auto& candidates : watches.seen) names.insert(candidates.begin(), candidates.end());
    EXPECT_EQ(names.size(), 2U);
}

coflux::task<void, sim_executor> yields_once(auto&&) {
    co_await coflux::yield();
}

TEST(Simulation, NamesMoreCoroutinesThanAFrameHasBitsFor) {
    watching_chooser watches;
    simulation sim(watches);
    sim_executor on;
    auto env = coflux::make_environment(on);
    std::uint64_t highest = 0;
    for (int i = 0; i < 35'000; ++i) {
        auto a = yields_once(env);
        auto b = yields_once(env);
        a.join();
        b.join();
        for (const auto& candidates : watches.seen) {
            ASSERT_EQ(candidates.size(), 2U);
            EXPECT_NE(candidates[0], candidates[1]);
            highest = std::max({highest, candidates[0], candidates[1]});
        }
        watches.seen.clear();
    }
    EXPECT_GE(highest, 70'000U);
}

// --- steals

coflux::fork<void, sim_executor> says(auto&&, borrowed<std::string> to, char letter) {
    *to += letter;
    co_return;
}

coflux::task<std::string, sim_executor> awaits_one_of_two(auto&&) {
    auto&& here = co_await coflux::context();
    std::string text;
    auto first = says(here, borrowed(text), '1');
    auto second = says(here, borrowed(text), '2');
    co_await std::move(second);
    text += 'p';
    co_await std::move(first);
    co_return text;
}

TEST(Simulation, LetsAnAwaitedForkRunInPlaceOrElsewhere) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        random_chooser random(seed);
        simulation sim(random);
        sim_executor on;
        auto env = coflux::make_environment(on);
        seen.insert(awaits_one_of_two(env).get());
    }
    EXPECT_EQ(seen, (std::set<std::string>{"2p1", "12p", "21p"}));
}

// --- hangs

coflux::task<void, sim_executor> waits_for_ever(auto&&) {
    coflux::manual_reset_event never;
    co_await never.wait();
}

TEST(Simulation, ReportsADeadlockAndEndsWhatHangs) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on(sim);
    auto env = coflux::make_environment(on);
    auto hanging = waits_for_ever(env);
    const std::string text = text_of_deadlock([&] { hanging.join(); });
    EXPECT_TRUE(has(text, "waits_for_ever at ")) << text;
    EXPECT_TRUE(has(text, "simulation_test.cpp:")) << text;
    EXPECT_TRUE(has(text, "waits for a manual_reset_event")) << text;
    EXPECT_EQ(sim.failure(), text);
}

coflux::call<void> waits_in_a_call(coflux::environment&, coflux::semaphore& s) {
    co_await s.acquire();
}

coflux::fork<void, sim_executor> calls(auto&&, borrowed<coflux::semaphore> s) {
    auto&& here = co_await coflux::context();
    co_await waits_in_a_call(here, *s);
}

coflux::task<void, sim_executor> awaits_a_fork_that_calls(auto&&) {
    auto&& here = co_await coflux::context();
    coflux::semaphore none(0);
    auto f = calls(here, borrowed(none));
    co_await std::move(f);
}

TEST(Simulation, ADeadlockNamesTheChainOfAwaitsUpToTheRoot) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on(sim);
    auto env = coflux::make_environment(on);
    auto root = awaits_a_fork_that_calls(env);
    const std::string text = text_of_deadlock([&] { root.join(); });
    const std::size_t leaf = text.find("waits_in_a_call at");
    const std::size_t fork = text.find("awaited by calls at");
    const std::size_t top = text.find("awaited by awaits_a_fork_that_calls at");
    EXPECT_LT(leaf, fork) << text;
    EXPECT_LT(fork, top) << text;
    EXPECT_NE(top, std::string::npos) << text;
    EXPECT_TRUE(has(text, "waits for a semaphore")) << text;
}

/// A foreign awaitable that resumes no coroutine until open() is called.
class foreign_gate {
public:
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) noexcept { waiting_ = h; }
    void await_resume() const noexcept {}
    void open() { std::exchange(waiting_, nullptr).resume(); }

private:
    std::coroutine_handle<> waiting_;
};

coflux::task<void, sim_executor> waits_abroad(auto&&, borrowed<foreign_gate> gate) {
    foreign_gate& g = *gate;
    co_await g;
}

TEST(Simulation, DescribesOneThatWaitsInAnAwaitableOfOthers) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on(sim);
    auto env = coflux::make_environment(on);
    foreign_gate gate;
    auto root = waits_abroad(env, borrowed(gate));
    sim.run();
    EXPECT_TRUE(has(sim.describe(), "waits_abroad at ")) << sim.describe();
    EXPECT_TRUE(has(sim.describe(), "waits for an awaitable of others")) << sim.describe();
    gate.open();
    EXPECT_TRUE(has(sim.describe(), "is ready")) << sim.describe();
    root.join();
    EXPECT_EQ(sim.describe(), "");
}

coflux::task<void, sim_executor> leaves_a_child(auto&&, borrowed<coflux::latch> l) {
    auto&& here = co_await coflux::context();
    auto waits = [](auto&&, borrowed<coflux::latch> of) -> coflux::fork<void, sim_executor> { co_await of->wait(); };
    waits(here, l).attach();
}

TEST(Simulation, DescribesOneThatHasEndedAndWaitsForItsChildren) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on(sim);
    auto env = coflux::make_environment(on);
    coflux::latch l(1);
    auto root = leaves_a_child(env, borrowed(l));
    sim.run();
    EXPECT_TRUE(has(sim.describe(), "has ended, its children have not")) << sim.describe();
    EXPECT_TRUE(has(sim.describe(), "waits for a latch")) << sim.describe();
    l.count_down();
    root.join();
}

coflux::task<void, sim_executor> yields_for_ever(auto&&) {
    for (;;) co_await coflux::yield();
}

TEST(Simulation, CallsWhatDoesNotEndALivelock) {
    fifo_chooser fifo;
    simulation sim(fifo, {.max_steps = 100});
    sim_executor on(sim);
    auto env = coflux::make_environment(on);
    auto root = yields_for_ever(env);
    EXPECT_THROW(root.join(), coflux::testing::livelock_error);
    EXPECT_TRUE(has(sim.failure(), "yields_for_ever at ")) << sim.failure();
    EXPECT_TRUE(has(sim.failure(), "is ready")) << sim.failure();
}

TEST(SimulationDeathTest, AHangThatCannotBeThrownEndsTheProgram) {
    EXPECT_DEATH(
        {
            fifo_chooser fifo;
            simulation sim(fifo);
            sim_executor on(sim);
            auto env = coflux::make_environment(on);
            auto dies = waits_for_ever(env);
        },
        "deadlock: no coroutine can run(.|\n)*waits for a manual_reset_event");
}

// --- the rest

coflux::task<void, sim_executor> fails(auto&&) {
    co_await coflux::yield();
    throw std::runtime_error("on purpose");
}

TEST(Simulation, LetsErrorsComeOutOfGet) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on(sim);
    auto env = coflux::make_environment(on);
    EXPECT_THROW(fails(env).get(), std::runtime_error);
    EXPECT_EQ(sim.failure(), "");
}

TEST(Simulation, HandsTheErrorOfATaskThatDiesUnawaitedToTheEnvironment) {
    static int errors = 0;
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on(sim);
    auto env = coflux::make_environment(on);
    env.on_unobserved_error([](const std::exception_ptr&) noexcept { ++errors; });
    { auto dies = fails(env); }
    EXPECT_EQ(errors, 1);
}

TEST(Simulation, TellsOfEachStepBeforeIt) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on;
    auto env = coflux::make_environment(on);
    std::vector<std::size_t> reported;
    sim.on_step([&](std::size_t n) {
        EXPECT_EQ(sim.steps(), n - 1);
        reported.push_back(n);
    });
    (void)three_write(env).get();
    ASSERT_EQ(reported.size(), sim.steps());
    for (std::size_t i = 0; i < reported.size(); ++i) EXPECT_EQ(reported[i], i + 1);
}

TEST(Simulation, AStepMayRequestAStop) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on;
    auto env = coflux::make_environment(on);
    auto root = yields_for_ever(env);
    sim.on_step([&](std::size_t n) {
        if (n == 5) root.request_stop();
    });
    root.join();
    EXPECT_EQ(sim.steps(), 5U);
}

coflux::fork<void, coflux::nth<sim_executor, 1>> notes_where(auto&&, borrowed<std::vector<bool>> right,
                                                             borrowed<coflux::manual_reset_event> go) {
    co_await go->wait();
    right->push_back(coflux::detail::this_thread.queues != nullptr);
}

coflux::task<std::size_t, sim_executor> forks_to_the_other(auto&&, const void* second) {
    auto&& here = co_await coflux::context();
    std::vector<bool> right;
    coflux::manual_reset_event go;
    const void* const mine = coflux::detail::this_thread.queues->executor();
    auto f = notes_where(here, borrowed(right), borrowed(go));
    co_await coflux::yield();
    go.set();
    co_await std::move(f);
    if (coflux::detail::this_thread.queues->executor() != mine || mine == second) co_return 0;
    co_return right.size();
}

TEST(Simulation, KeepsCoroutinesOfSeveralExecutorsOnTheirOwn) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        random_chooser random(seed);
        simulation sim(random);
        sim_executor first;
        sim_executor second;
        EXPECT_NE(first.identity(), second.identity());
        const void* const other = second.identity();
        auto env = coflux::make_environment(first, second);
        EXPECT_EQ(forks_to_the_other(env, other).get(), 1U);
    }
}

TEST(Simulation, IsNested) {
    fifo_chooser fifo;
    simulation outer(fifo);
    sim_executor on;
    auto env = coflux::make_environment(on);
    auto root = yields_once(env);
    outer.advance(1h);
    {
        simulation inner(fifo);
        EXPECT_EQ(simulation::current(), &inner);
        EXPECT_EQ(inner.elapsed(), 0s);
        sim_executor inside;
        auto below = coflux::make_environment(inside);
        EXPECT_EQ(three_write(below).get().size(), 3U);
    }
    EXPECT_EQ(simulation::current(), &outer);
    EXPECT_EQ(outer.elapsed(), 1h);
    root.join();
}

TEST(SimulationDeathTest, ATaskOfAnOuterSimulationIsNotWaitedForInAnInnerOne) {
    EXPECT_DEATH(
        {
            fifo_chooser fifo;
            simulation outer(fifo);
            sim_executor on;
            auto env = coflux::make_environment(on);
            auto root = yields_once(env);
            simulation inner(fifo);
            root.join();
        },
        "not the youngest of its thread");
}

coflux::task<void, sim_executor> blocks(coflux::environment& outer) {
    auto inside = yields_once(outer);
    inside.join();
    co_return;
}

TEST(SimulationDeathTest, ABlockingWaitInsideACoroutineIsACheckedError) {
    EXPECT_DEATH(
        {
            fifo_chooser fifo;
            simulation sim(fifo);
            sim_executor on;
            auto env = coflux::make_environment(on);
            blocks(env).get();
        },
        "a blocking wait for");
}

TEST(SimulationDeathTest, AnotherThreadThatResumesOneIsACheckedError) {
    EXPECT_DEATH(
        {
            fifo_chooser fifo;
            simulation sim(fifo);
            sim_executor on;
            auto env = coflux::make_environment(on);
            foreign_gate gate;
            auto root = waits_abroad(env, borrowed(gate));
            sim.run();
            std::thread([&gate] { gate.open(); }).join();
        },
        "by a thread other than its simulation's");
}

coflux::task<int, coflux::thread_pool_executor> on_a_pool(auto&&) {
    co_await coflux::yield();
    co_return 7;
}

TEST(Simulation, LeavesTheTasksOfOtherExecutorsAlone) {
    fifo_chooser fifo;
    simulation sim(fifo);
    coflux::thread_pool_executor pool(1);
    auto env = coflux::make_environment(pool);
    EXPECT_EQ(on_a_pool(env).get(), 7);
    EXPECT_EQ(sim.steps(), 0U);
}

TEST(Simulation, RunsWhatStillIsReadyAtItsEnd) {
    fifo_chooser fifo;
    std::optional<simulation> sim(std::in_place, fifo);
    sim_executor on;
    auto env = coflux::make_environment(on);
    auto root = yields_once(env);
    sim.reset();
    EXPECT_TRUE(root.done());
}

}  // namespace
