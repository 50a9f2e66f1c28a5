// A strand over a simulated executor: what it promises holds in each schedule, and virtual time passes on it.
#include <coflux/testing/sim_executor.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/simulation.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::testing::explore;
using coflux::testing::sim_executor;
using coflux::testing::simulation;
using strand = coflux::strand<sim_executor>;

/// A section that a coroutine leaves and enters by itself: where it yields inside, others see it.
struct section {
    int inside = 0;
    bool overlapped = false;
    std::string order;
};

/// Between two visits it leaves for the executor below.
coflux::fork<void, strand> visits(coflux::environment&, borrowed<section> s, borrowed<strand> home,
                                  borrowed<sim_executor> away, char letter, int times) {
    for (int i = 0; i < times; ++i) {
        s->overlapped = s->overlapped || s->inside++ != 0;
        s->order += letter;
        --s->inside;
        co_await coflux::resume_on(*away);
        co_await coflux::resume_on(*home);
    }
}
coflux::task<void, sim_executor> makes_visitors(coflux::environment&, borrowed<section> s, borrowed<strand> home,
                                                borrowed<sim_executor> away) {
    auto&& here = co_await coflux::context();
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        scope.spawn(visits, s, home, away, 'a', 3);
        co_await coflux::yield();
        scope.spawn(visits, s, home, away, 'b', 3);
        scope.spawn(visits, s, home, away, 'c', 3);
    });
}

TEST(simulation_strand, ExcludesAndKeepsTheOrderInEverySchedule) {
    std::set<std::string> orders;
    const auto found = explore([&orders](simulation&) {
        sim_executor below;
        strand on(below);
        auto env = coflux::make_environment(below, on);
        section s;
        makes_visitors(env, borrowed(s), borrowed(on), borrowed(below)).get();
        EXPECT_FALSE(s.overlapped);
        EXPECT_EQ(s.order.size(), 9U);
        EXPECT_LT(s.order.find('b'), s.order.find('c'));  // in the order of the posts
        orders.insert(s.order);
    });
    EXPECT_TRUE(found.ok()) << found.report();
    EXPECT_GT(orders.size(), 1U);
}

/// Counts without a lock. Only what goes on between two awaits is safe.
coflux::fork<void, strand> adds(coflux::environment&, borrowed<int> to, bool leaves) {
    const int before = *to;
    if (leaves) co_await coflux::sleep_for(1ns);
    *to = before + 1;
}
coflux::task<int, sim_executor> counts(coflux::environment&, bool leaves) {
    auto&& here = co_await coflux::context();
    int sum = 0;
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        for (int i = 0; i < 4; ++i) scope.spawn(adds, borrowed(sum), leaves);
        co_return;
    });
    co_return sum;
}

TEST(simulation_strand, ShowsWhatIsLostWhereACoroutineLeavesIt) {
    int least = 4;
    const auto found = explore([&least](simulation&) {
        sim_executor below;
        strand on(below);
        auto env = coflux::make_environment(below, on);
        EXPECT_EQ(counts(env, false).get(), 4);
        least = std::min(least, counts(env, true).get());
    });
    EXPECT_TRUE(found.ok()) << found.report();
    EXPECT_LT(least, 4);
}

coflux::fork<void, strand> sleeps(coflux::environment&, borrowed<std::string> to, char letter,
                                  std::chrono::hours time) {
    co_await coflux::sleep_for(time);
    *to += letter;
}
coflux::task<std::string, sim_executor> makes_sleepers(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::string order;
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        scope.spawn(sleeps, borrowed(order), 'c', 3h);
        scope.spawn(sleeps, borrowed(order), 'a', 1h);
        scope.spawn(sleeps, borrowed(order), 'b', 2h);
        co_return;
    });
    co_return order;
}

TEST(simulation_strand, SleepsInVirtualTime) {
    const auto found = explore([](simulation& sim) {
        const auto begin = sim.now();
        sim_executor below;
        strand on(below);
        auto env = coflux::make_environment(below, on);
        EXPECT_EQ(makes_sleepers(env).get(), "abc");
        EXPECT_GE(sim.now() - begin, 3h);
    });
    EXPECT_TRUE(found.ok()) << found.report();
}

coflux::task<void, strand> waits_for_ever(coflux::environment&) {
    coflux::manual_reset_event never;
    co_await never.wait();
}

TEST(simulation_strand, NamesACoroutineThatWaitsForEver) {
    const auto found = explore({.runs = 1}, [](simulation&) {
        sim_executor below;
        strand on(below);
        auto env = coflux::make_environment(below, on);  // without `below` the simulation does not know its root
        waits_for_ever(env).get();
    });
    ASSERT_FALSE(found.ok());
    EXPECT_NE(found.report().find("waits_for_ever"), std::string::npos) << found.report();
}

}  // namespace
