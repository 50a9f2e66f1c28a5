#include <coflux/testing/simulation.hpp>

#include <chrono>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/sim_executor.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::testing::sim_executor;
using coflux::testing::simulation;

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
    coflux::testing::fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on(sim);
    auto env = coflux::make_environment(on);
    EXPECT_EQ(three_write(env).get().size(), 3U);
}

TEST(Simulation, ReachesEveryOrderWithRandomChoices) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        coflux::testing::random_chooser random(seed);
        simulation sim(random);
        sim_executor on;
        auto env = coflux::make_environment(on);
        seen.insert(three_write(env).get());
    }
    EXPECT_EQ(seen.size(), 6U);
}

coflux::task<void, sim_executor> sleeps(auto&&, std::chrono::nanoseconds d) {
    co_await coflux::sleep_for(d);
}

TEST(Simulation, LetsAYearPassAtOnceAndExactly) {
    coflux::testing::fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on(sim);
    auto env = coflux::make_environment(on);
    sleeps(env, 24h * 365).get();
    EXPECT_EQ(sim.elapsed(), 24h * 365);
}

coflux::task<void, sim_executor> waits_for_ever(auto&&) {
    coflux::manual_event never;
    co_await never.wait();
}

TEST(Simulation, ReportsADeadlockAndEndsWhatHangs) {
    coflux::testing::fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on(sim);
    auto env = coflux::make_environment(on);
    auto hanging = waits_for_ever(env);
    EXPECT_THROW(hanging.join(), coflux::testing::deadlock_error);
}

}  // namespace
