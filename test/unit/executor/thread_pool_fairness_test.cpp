// Law 8: every ready coroutine runs within a stated bound of steps, whatever else runs.
#include <coflux/executor/thread_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <support/iterations.hpp>

#include "loose_coroutine.hpp"

namespace {

using coflux::borrowed;
using coflux_test::loose;
using pool = coflux::thread_pool_executor;

/// What thread_pool.hpp states: resumptions of each coroutine ahead in the queue before one that is ready is served.
constexpr std::size_t stated_bound = 200;
/// Where a test gives up: a failure instead of a hang.
constexpr std::size_t give_up = 100'000;

coflux::fork<void, pool> nothing(auto&&) {
    co_return;
}

/// Queues `f` on `p` as a thread that does not belong to it does, and returns when it is queued.
template <typename F>
void inject(pool& p, F f) {
    std::thread([&] { p.execute(loose(std::move(f))); }).join();
}

// All runs on a pool of one worker, so that counters of steps need not be atomic.

coflux::task<std::size_t, pool> forks_until_served(auto&&, borrowed<pool> p, std::size_t before) {
    auto&& here = co_await coflux::context();
    for (std::size_t i = 0; i < before; ++i) co_await nothing(here);
    bool served = false;
    inject(*p, [&] { served = true; });
    std::size_t steps = 0;
    for (; !served && steps < give_up; ++steps) co_await nothing(here);
    co_return steps;
}

TEST(thread_pool_fairness, serves_outsiders_beside_one_that_forks_and_awaits_for_ever) {
    pool p(1);
    auto env = coflux::make_environment(p);
    for (std::size_t before = 0; before < 300; before += 7)
        EXPECT_LE(forks_until_served(env, borrowed(p), before).get(), stated_bound) << "after " << before << " forks";
}

coflux::task<std::size_t, pool> yields_until_served(auto&&, borrowed<pool> p, std::size_t before) {
    for (std::size_t i = 0; i < before; ++i) co_await coflux::yield();
    bool served = false;
    inject(*p, [&] { served = true; });
    std::size_t steps = 0;
    for (; !served && steps < give_up; ++steps) co_await coflux::yield();
    co_return steps;
}

TEST(thread_pool_fairness, serves_outsiders_beside_one_that_yields_for_ever) {
    pool p(1);
    auto env = coflux::make_environment(p);
    for (std::size_t before = 0; before < 300; before += 7)
        EXPECT_LE(yields_until_served(env, borrowed(p), before).get(), stated_bound) << "after " << before << " yields";
}

/// What a coroutine sees of another's steps at each of its own steps.
struct sightings {
    std::size_t steps = 0;
    bool enough = false;
    std::size_t turns = 0;
    std::size_t last = 0;
    std::size_t widest = 0;  // steps between two of its own

    void take_turn() {
        if (turns++ != 0) widest = std::max(widest, steps - last);
        last = steps;
    }
};

coflux::fork<void, pool> yields(auto&&, borrowed<sightings> s) {
    while (!s->enough) {
        s->take_turn();
        co_await coflux::yield();
    }
}

coflux::task<void, pool> forks_beside_yielders(auto&&, borrowed<std::vector<sightings>> all) {
    auto&& here = co_await coflux::context();
    for (sightings& s : *all) yields(here, borrowed(s)).attach();
    co_await coflux::yield();  // they begin, and are among the ready from now on
    for (std::size_t i = 0; i < give_up; ++i) {
        co_await nothing(here);
        for (sightings& s : *all) ++s.steps;
    }
    for (sightings& s : *all) s.enough = true;
}

TEST(thread_pool_fairness, resumes_a_yielder_beside_one_that_forks_and_awaits_for_ever) {
    pool p(1);
    auto env = coflux::make_environment(p);
    std::vector<sightings> one(1);
    forks_beside_yielders(env, borrowed(one)).get();
    ASSERT_GE(one[0].turns, give_up / stated_bound);
    EXPECT_LE(one[0].widest, stated_bound);
}

TEST(thread_pool_fairness, resumes_each_of_many_yielders_beside_one_that_forks_and_awaits_for_ever) {
    pool p(1);
    auto env = coflux::make_environment(p);
    std::vector<sightings> many(10);
    forks_beside_yielders(env, borrowed(many)).get();
    for (const sightings& s : many) {
        ASSERT_GE(s.turns, give_up / (stated_bound * many.size()));
        EXPECT_LE(s.widest, stated_bound * many.size());
    }
}

coflux::task<std::size_t, pool> forks_until_served_beside_a_yielder(auto&&, borrowed<pool> p, borrowed<sightings> s) {
    auto&& here = co_await coflux::context();
    yields(here, s).attach();
    co_await coflux::yield();
    bool served = false;
    inject(*p, [&] { served = true; });
    std::size_t steps = 0;
    for (; !served && steps < give_up; ++steps) co_await nothing(here);
    s->enough = true;
    co_return steps;
}

TEST(thread_pool_fairness, serves_outsiders_beside_a_yielder_and_one_that_forks_for_ever) {
    pool p(1);
    auto env = coflux::make_environment(p);
    for (int round = 0; round < 100; ++round) {
        sightings s;
        ASSERT_LE(forks_until_served_beside_a_yielder(env, borrowed(p), borrowed(s)).get(), 2 * stated_bound);
    }
}

coflux::fork<void, pool> serve(auto&&, borrowed<bool> served) {
    *served = true;
    co_return;
}

coflux::task<std::size_t, pool> yields_until_a_fork_ran(auto&&) {
    auto&& here = co_await coflux::context();
    bool served = false;
    auto f = serve(here, borrowed(served));
    std::size_t steps = 0;
    for (; !served && steps < give_up; ++steps) co_await coflux::yield();
    co_await std::move(f);  // before `served` dies
    co_return steps;
}

TEST(thread_pool_fairness, starts_a_fork_that_is_not_awaited_beside_its_yielding_parent) {
    pool p(1);
    auto env = coflux::make_environment(p);
    EXPECT_LE(yields_until_a_fork_ran(env).get(), 2U);
}

/// The oldest fork of a worker is served once in 65536 rounds of 61 resumptions (docs/design/thread_pool.md).
constexpr std::size_t bound_of_the_oldest = 65'536 * (61 + 1);

coflux::task<std::size_t, pool> forks_until_the_oldest_ran(auto&&) {
    auto&& here = co_await coflux::context();
    bool served = false;
    auto oldest = serve(here, borrowed(served));
    std::size_t steps = 0;
    for (; !served && steps < 2 * bound_of_the_oldest; ++steps) co_await nothing(here);
    co_await std::move(oldest);
    co_return steps;
}

TEST(thread_pool_fairness, starts_the_oldest_fork_beside_younger_ones_that_never_end) {
    if (coflux_test::sanitized) GTEST_SKIP() << "four million steps";
    pool p(1);
    auto env = coflux::make_environment(p);
    EXPECT_LE(forks_until_the_oldest_ran(env).get(), bound_of_the_oldest);
}

}  // namespace
