// Law 8: every ready coroutine runs within a stated bound of steps, whatever else runs.
#include <coflux/executor/thread_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <support/cpu_clock.hpp>
#include <support/iterations.hpp>

#include "loose_coroutine.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux_test::loose;
using pool = coflux::thread_pool_executor;

/// The bound of thread_pool.hpp: resumptions of each coroutine ahead in the queue before one that is ready is served.
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

/// A coroutine's sight of another's steps at each of its own.
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

/// Children that one awaits one by one until `after` has begun, which it made and does not await.
coflux::task<std::size_t, pool> forks_until_begun(auto&&, std::size_t before) {
    auto&& here = co_await coflux::context();
    for (std::size_t i = 0; i < before; ++i) co_await nothing(here);
    bool served = false;
    auto beneath = serve(here, borrowed(served));
    std::size_t steps = 0;
    for (; !served && steps < give_up; ++steps) co_await nothing(here);
    co_await std::move(beneath);
    co_return steps;
}

TEST(thread_pool_fairness, starts_a_fork_beside_its_maker_that_forks_and_awaits_on) {
    pool p(1);
    auto env = coflux::make_environment(p);
    for (std::size_t before = 0; before < 300; before += 7)
        EXPECT_LE(forks_until_begun(env, before).get(), 2 * stated_bound) << "after " << before << " forks";
}

coflux::task<std::size_t, pool> makes_many_that_wait(auto&&) {
    auto&& here = co_await coflux::context();
    std::size_t most = 0;
    for (int i = 0; i < 100; ++i) {
        bool served = false;
        auto beneath = serve(here, borrowed(served));
        std::size_t steps = 0;
        for (; !served && steps < give_up; ++steps) co_await nothing(here);
        co_await std::move(beneath);
        if (i != 0) most = std::max(most, steps);
    }
    co_return most;
}

TEST(thread_pool_fairness, starts_each_further_one_within_a_round) {
    pool p(1);
    auto env = coflux::make_environment(p);
    EXPECT_LE(makes_many_that_wait(env).get(), 2 * 62U) << "two, where the clock had the oldest fork go first";
}

/// Forks and awaits for ever; tells the others of its steps.
coflux::fork<void, pool> makes_on(auto&&, borrowed<std::vector<sightings>> all, std::size_t own) {
    auto&& here = co_await coflux::context();
    for (std::size_t i = 0; !(*all)[own].enough && i < give_up; ++i) {
        (*all)[own].take_turn();
        co_await nothing(here);
        for (std::size_t k = 0; k < all->size(); ++k)
            if (k != own) ++(*all)[k].steps;
    }
    for (sightings& s : *all) s.enough = true;
}
coflux::task<void, pool> two_make_on(auto&&, borrowed<std::vector<sightings>> all) {
    auto&& here = co_await coflux::context();
    auto first = makes_on(here, all, 0);
    auto second = makes_on(here, all, 1);
    co_await std::move(second);
    co_await std::move(first);
}

TEST(thread_pool_fairness, has_two_that_fork_and_await_for_ever_take_turns) {
    pool p(1);
    auto env = coflux::make_environment(p);
    std::vector<sightings> both(2);
    two_make_on(env, borrowed(both)).get();
    for (const sightings& s : both) {
        EXPECT_GE(s.turns, give_up / 2);
        EXPECT_LE(s.widest, 2 * stated_bound);
    }
}

/// Alive at once, and the most of them.
struct branches {
    std::size_t open = 0;
    std::size_t most = 0;
};
/// In each coroutine a child that is awaited last lies beneath a long row of short ones.
coflux::fork<void, pool> grows(auto&&, borrowed<branches> b, int depth) {
    auto&& here = co_await coflux::context();
    b->most = std::max(b->most, ++b->open);
    if (depth != 0) {
        auto beneath = grows(here, b, depth - 1);
        for (int i = 0; i < 10'000; ++i) co_await nothing(here);
        co_await grows(here, b, depth - 1);
        co_await std::move(beneath);
    }
    --b->open;
}
coflux::task<void, pool> grows_from(auto&&, borrowed<branches> b, int depth) {
    auto&& here = co_await coflux::context();
    co_await grows(here, b, depth);
}

// Depth first there are as many as the tree is deep. Each that gives way opens one branch that was queued, and the two
// on top of the queue take turns: what lies below them does not begin.
TEST(thread_pool_fairness, opens_no_more_branches_than_forks_were_queued) {
    constexpr int depth = 5;
    pool p({.threads = 1, .oldest_wait = 1h});  // the clock opens none
    auto env = coflux::make_environment(p);
    branches b;
    grows_from(env, borrowed(b), depth).get();
    EXPECT_GT(b.most, std::size_t{depth} + 1) << "none gave way";
    EXPECT_LE(b.most, std::size_t{depth + 1} * (depth + 1));
}

using time_point = std::chrono::steady_clock::time_point;

/// How a coroutine passes the time between two awaits.
void spin_for(std::chrono::nanoseconds d) {
    const time_point begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < d) continue;
}

coflux::fork<void, pool> serves(auto&&, borrowed<std::atomic<bool>> served) {
    served->store(true);
    co_return;
}

/// How long a fork that is not awaited waits beside its maker, which forks and awaits on, and takes `step` each time.
struct wait_of_the_oldest {
    std::chrono::nanoseconds of_processor;  // while other programs have the processor it does not grow
    std::size_t steps = 0;
};
coflux::task<wait_of_the_oldest, pool> forks_until_the_oldest_ran(auto&&, std::chrono::nanoseconds step) {
    auto&& here = co_await coflux::context();
    std::atomic<bool> served = false;
    std::size_t steps = 0;
    const time_point gives_up = std::chrono::steady_clock::now() + 10s;
    const auto begin = coflux_test::thread_cpu_time();
    auto oldest = serves(here, borrowed(served));
    for (; !served.load() && std::chrono::steady_clock::now() < gives_up; ++steps) {
        if (step != 0ns) spin_for(step);
        co_await nothing(here);
    }
    const auto took = coflux_test::thread_cpu_time() - begin;
    co_await std::move(oldest);
    co_return wait_of_the_oldest{took, steps};
}

/// The time of a step beyond that in which it spins.
constexpr std::chrono::nanoseconds slack = coflux_test::sanitized ? 5ms : 100us;

/// The best of some attempts: a host that takes the processor from the whole machine counts as processor time.
std::chrono::nanoseconds best_wait_of_the_oldest(pool& p, std::chrono::nanoseconds step) {
    auto env = coflux::make_environment(p);
    std::chrono::nanoseconds best = 10s;
    for (int attempt = 0; attempt < 20 && best > 1ms + step + slack; ++attempt)
        best = std::min(best, forks_until_the_oldest_ran(env, step).get().of_processor);
    return best;
}

TEST(thread_pool_fairness, starts_the_oldest_fork_within_a_millisecond_beside_younger_ones_that_never_end) {
    pool p(1);
    for (const std::chrono::nanoseconds step : {0ns, 1'000ns, 20'000ns, 500'000ns})
        EXPECT_LE(best_wait_of_the_oldest(p, step), 1ms + (step <= 100us ? 1 : 4) * step + slack)
            << step.count() << " ns a step";
}

coflux::task<std::size_t, pool> long_steps_until_all_are_served(auto&&, borrowed<pool> p, borrowed<sightings> ready,
                                                                std::chrono::nanoseconds step) {
    auto&& here = co_await coflux::context();
    yields(here, ready).attach();
    co_await coflux::yield();
    const auto take_a_step = [step](coflux::environment& e) {
        spin_for(step);
        return nothing(e);
    };
    for (int i = 0; i < 130; ++i) co_await take_a_step(here);  // from then on the worker knows the pace
    std::size_t most = 0;
    for (int round = 0; round < 10; ++round) {
        std::atomic<bool> outside = false;
        const std::size_t turns = ready->turns;
        inject(*p, [&] { outside = true; });
        std::size_t steps = 0;
        for (; (!outside || ready->turns == turns) && steps < 1000; ++steps) co_await take_a_step(here);
        most = std::max(most, steps);
    }
    ready->enough = true;
    co_return most;
}

TEST(thread_pool_fairness, serves_what_is_ready_and_outsiders_where_steps_are_long) {
    pool p(1);
    auto env = coflux::make_environment(p);
    for (const std::chrono::nanoseconds step : {150us, 250us, 500us, 1000us}) {
        sightings s;
        EXPECT_LE(long_steps_until_all_are_served(env, borrowed(p), borrowed(s), step).get(), 12U) << step.count();
    }
}

TEST(thread_pool_fairness, starts_the_oldest_fork_while_another_worker_is_busy_too) {
    pool p(2);
    auto env = coflux::make_environment(p);
    std::atomic<bool> enough = false;
    const auto forks_on = [](auto&&, borrowed<std::atomic<bool>> stop) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        while (!stop->load()) co_await nothing(here);
    };
    auto other = forks_on(env, borrowed(enough));
    // In steps, because its maker may go on on the other thread.
    constexpr std::chrono::nanoseconds step = 20us;
    for (int attempt = 0; attempt < 20; ++attempt)
        EXPECT_LE(forks_until_the_oldest_ran(env, step).get().steps, (2ms + slack) / step);
    enough = true;
    other.get();
}

}  // namespace
