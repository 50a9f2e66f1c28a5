// Law 4: what a stop costs is what is below, whatever is nested in what; and no worker stands still for it.
#include <coflux/coflux.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../../../src/core/detail/wait/stop_walk.hpp"
#include "support/executors.hpp"
#include "support/iterations.hpp"
#include "support/nesting.hpp"

namespace {

using coflux_test::manual_executor;
using nesting = coflux_test::nesting<manual_executor>;

/// The looks of all requests so far, in this process.
std::uint64_t looks() {
    return coflux::detail::effort_of_stops.looks.load();
}

struct cost {
    std::uint64_t looks;    // in all
    std::uint64_t longest;  // in the request, or between two looks of the executor at its queue
};

coflux::task<void, manual_executor> waits_for(coflux::environment&, const nesting* of, int levels) {
    auto&& here = co_await coflux::context();
    (void)co_await coflux::as_outcome(nesting::made(here, of, levels));
}

cost of_stop(std::size_t a, std::size_t b, int levels) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    nesting of(a, b);
    auto root = waits_for(env, &of, levels);
    by_hand.run_all();
    EXPECT_TRUE(of.reached.is_set());
    cost spent{0, 0};
    std::uint64_t before = looks();
    const auto add = [&] {
        const std::uint64_t now = looks();
        spent.looks += now - before;
        spent.longest = std::max(spent.longest, now - before);
        before = now;
    };
    root.request_stop();
    add();
    while (by_hand.run_one()) add();
    EXPECT_TRUE(root.done());
    root.join();
    return spent;
}

TEST(law_04_nesting, a_stop_looks_at_each_level_a_few_times_whatever_is_nested_in_what) {
    for (std::size_t a = 0; a < nesting::kinds_count; ++a) {
        for (std::size_t b = a; b < nesting::kinds_count; ++b) {
            SCOPED_TRACE(std::string(nesting::kinds[a].name) + " and " + nesting::kinds[b].name);
            const cost small = of_stop(a, b, 40);
            const cost large = of_stop(a, b, 160);
            EXPECT_LE(large.looks, 4 * small.looks);
            EXPECT_LE(large.looks, 160 * 12);  // down and up, a level, what waits beside it, and a scope's block
        }
    }
}

TEST(law_04_nesting, a_stop_lets_the_executor_look_at_its_queue_however_much_is_below) {
    // A coroutine that is stopped in a step may request a stop itself, of what is further below.
    constexpr auto most = 2 * static_cast<std::uint64_t>(coflux::detail::longest_stop_step);
    for (std::size_t a = 0; a < nesting::kinds_count; ++a) {
        SCOPED_TRACE(nesting::kinds[a].name);
        const cost spent = of_stop(a, a, 3'000);
        EXPECT_GE(spent.looks, 3'000U);
        EXPECT_LE(spent.longest, most + 8);  // it does not stop at an environment object
    }
}

coflux::fork<void, manual_executor> waits(coflux::environment&, coflux::manual_reset_event* e) {
    co_await e->wait();
}

coflux::task<void, manual_executor> has_many(coflux::environment&, coflux::manual_reset_event* e, int children) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i != children; ++i) waits(here, e).attach();
    co_await e->wait();
}

TEST(law_04_nesting, a_stop_of_many_children_lets_the_executor_look_at_its_queue) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    coflux::manual_reset_event never;
    constexpr int children = 5'000;
    auto root = has_many(env, &never, children);
    by_hand.run_all();
    const std::size_t before = by_hand.executed();
    const std::uint64_t looked = looks();
    root.request_stop();
    // The request itself has stopped some. The rest is a step each in the executor's queue.
    EXPECT_LE(looks() - looked, static_cast<std::uint64_t>(coflux::detail::longest_stop_step));
    EXPECT_LE(by_hand.executed() - before, static_cast<std::size_t>(coflux::detail::longest_stop_step) + 1);
    by_hand.run_all();
    EXPECT_TRUE(root.done());
    root.join();
}

coflux::fork<void, manual_executor> computes(coflux::environment&, coflux::manual_reset_event* e,
                                             coflux::environment** asked) {
    auto&& here = co_await coflux::context();
    co_await e->wait();
    *asked = &here;
    co_await coflux::yield();
}

coflux::task<void, manual_executor> has_many_and_one(coflux::environment&, coflux::manual_reset_event* e,
                                                     coflux::manual_reset_event* first, coflux::environment** asked) {
    auto&& here = co_await coflux::context();
    computes(here, first, asked).attach();
    for (int i = 0; i != 5'000; ++i) waits(here, e).attach();
    co_await e->wait();
}

TEST(law_04_nesting, what_runs_sees_a_request_that_has_not_come_to_it) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    coflux::manual_reset_event never;
    coflux::manual_reset_event first;
    coflux::environment* asked = nullptr;
    auto root = has_many_and_one(env, &never, &first, &asked);
    by_hand.run_all();
    first.set();
    by_hand.run_one();
    ASSERT_NE(asked, nullptr);
    EXPECT_FALSE(asked->stop_requested());
    root.request_stop();
    EXPECT_TRUE(asked->stop_requested()) << "the oldest record is the last that a walk comes to";
    by_hand.run_all();
    root.join();
}

TEST(law_04_nesting, a_second_request_looks_at_nothing) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    coflux::manual_reset_event never;
    auto root = has_many(env, &never, 100);
    by_hand.run_all();
    root.request_stop();
    const std::uint64_t looked = looks();
    root.request_stop();
    EXPECT_EQ(looks(), looked);
    by_hand.run_all();
    root.join();
}

// --- between two steps -----------------------------------------------------------------------------------------------

struct garden {
    coflux::manual_reset_event first;  // what the children wait for that are reached in the first step
    coflux::manual_reset_event never;
    int stopped = 0;
    int values = 0;
};

coflux::fork<void, manual_executor> grows(coflux::environment&, garden* g, int children, bool last) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i != children; ++i) waits(here, i == 0 ? &g->first : &g->never).attach();
    const auto o = co_await coflux::as_outcome(waits(here, last ? &g->never : &g->first));
    o.is_stopped() ? ++g->stopped : ++g->values;
}

coflux::task<void, manual_executor> plants(coflux::environment&, garden* g) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i != 8; ++i) grows(here, g, 700, i == 0).attach();
    co_await g->never.wait();
}

TEST(law_04_nesting, what_ends_or_is_asked_again_between_two_steps_is_stopped_or_has_ended) {
    for (int steps = 0; steps != 12; ++steps) {
        SCOPED_TRACE(steps);
        manual_executor by_hand;
        auto env = coflux::make_environment(by_hand);
        garden g;
        auto root = plants(env, &g);
        by_hand.run_all();
        root.request_stop();
        for (int i = 0; i != 600 * steps; ++i) by_hand.run_one();
        g.first.set();
        env.request_stop();
        by_hand.run_all();
        ASSERT_TRUE(root.done());
        EXPECT_EQ(g.stopped + g.values, 8);
        EXPECT_GE(g.stopped, 1);
        root.join();
    }
}

TEST(law_04_nesting, what_is_made_between_two_steps_is_stopped) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    garden g;
    auto root = plants(env, &g);
    by_hand.run_all();
    env.request_stop();
    auto late = plants(env, &g);
    by_hand.run_all();
    ASSERT_TRUE(root.done());
    ASSERT_TRUE(late.done());
    root.join();
    late.join();
}

// --- on several threads ----------------------------------------------------------------------------------------------

using pool = coflux::thread_pool_executor;

struct forest {
    coflux::manual_reset_event all_begun;
    coflux::manual_reset_event some_end;
    coflux::manual_reset_event never;
    std::atomic<int> begun{0};
};
constexpr int branches = 6;
constexpr int leaves = 400;

coflux::fork<int, pool> leaf(coflux::environment&, forest* f, int i) {
    if (++f->begun == branches * leaves) f->all_begun.set();
    if (i % 3 != 0) co_await f->some_end.wait();
    if (i % 3 != 1) co_await f->never.wait();
    co_return i;
}

coflux::fork<void, pool> branch(coflux::environment&, forest* f) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
    for (int i = 1; i != leaves; ++i) leaf(sub, f, i).attach();
    (void)co_await coflux::select(leaf(here, f, 0), f->never.wait());
    co_await sub.join();
}

coflux::task<void, pool> forest_root(coflux::environment&, forest* f) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i != branches; ++i) branch(here, f).attach();
    co_await f->never.wait();
}

coflux::task<void, pool> waits_until(coflux::environment&, coflux::manual_reset_event* e) {
    co_await e->wait();
}

TEST(law_04_nesting, a_stop_goes_on_in_steps_beside_coroutines_that_end_and_other_requests) {
    pool workers(2);
    for (std::size_t round = 0; round != coflux_test::repetitions(120); ++round) {
        auto env = coflux::make_environment(workers);
        forest f;
        auto root = forest_root(env, &f);
        waits_until(env, &f.all_begun).get();
        std::thread other([&] {
            f.some_end.set();
            env.request_stop();
        });
        root.request_stop();
        root.join();
        other.join();
    }
}

}  // namespace
