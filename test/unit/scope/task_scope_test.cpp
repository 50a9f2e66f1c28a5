#include <coflux/scope/task_scope.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "../combine/contenders.hpp"
#include "../core/stage.hpp"
#include "support/gate.hpp"
#include "support/iterations.hpp"

namespace {

using namespace coflux_test;
using pool = coflux::thread_pool_executor;
using lines = std::vector<std::string>;
using root = coflux::task<void, hand>;

coflux::fork<void, hand> writes(coflux::environment&, int yields, journal* log, std::string line) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    log->write(std::move(line));
}

TEST(task_scope, joins_what_was_spawned_and_what_was_attached) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here);
        scope.spawn(writes, 3, log, "spawned");
        writes(scope, 1, log, "attached").attach();
        auto awaited = gives_after(scope, 2, 5);
        EXPECT_EQ(co_await std::move(awaited), 5);
        co_await scope.join();
        log->write("joined");
    }(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"attached", "spawned", "joined"}));
}

TEST(task_scope, without_children_is_joined_at_once_and_as_often_as_one_likes) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here);
        co_await scope.join();
        for (int i = 0; i < 3; ++i) {
            scope.spawn(writes, i, log, "again");
            co_await scope.join();
        }
        const coflux::task_scope unused(here);
    }(s.env, &j));
    EXPECT_EQ(j.lines(), lines(3, "again"));
}

coflux::fork<void, hand> spreads(coflux::task_scope& scope, int depth, int* leaves) {
    co_await coflux::yield();
    if (depth == 0) {
        ++*leaves;
    } else {
        scope.spawn(spreads, depth - 1, leaves);
        spreads(scope, depth - 1, leaves).attach();
    }
}

TEST(task_scope, takes_children_of_its_children_while_join_waits) {
    stage<hand> s;
    int leaves = 0;
    s.run([](coflux::environment&, int* count) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here);
        scope.spawn(spreads, 8, count);
        co_await scope.join();
        EXPECT_EQ(*count, 256);
    }(s.env, &leaves));
}

TEST(task_scope, stops_the_others_at_the_first_error_and_throws_it) {
    stage<hand> s;
    journal j;
    gate never;
    s.run([](coflux::environment&, journal* log, gate* closed) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here);
        scope.spawn(runs_until_stopped, log, "child");
        scope.spawn(fails_when_stopped, "second");
        scope.spawn([](auto&&, gate* at) -> coflux::fork<void, hand> { co_await at->wait(); }, closed);
        scope.spawn(fails_after, 3, "first");
        try {
            co_await scope.join();
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "first");
            EXPECT_EQ(coflux::other_errors().size(), 1U);
        }
        EXPECT_TRUE(scope.stop_requested());
        EXPECT_FALSE(here.stop_requested());
        EXPECT_FALSE(closed->has_waiter());
        co_await scope.join();  // thrown once
    }(s.env, &j, &never));
    EXPECT_EQ(j.lines(), lines{"child dies"});
}

TEST(task_scope, that_collects_lets_the_others_run_and_has_all_errors) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here, coflux::collect_all);
        scope.spawn(fails_after, 2, "second");
        scope.spawn(writes, 5, log, "ran to its end");
        scope.spawn(fails_after, 0, "first");
        try {
            co_await scope.join();
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "first");
            EXPECT_EQ(coflux::other_errors().size(), 1U);
        }
        EXPECT_FALSE(scope.stop_requested());
    }(s.env, &j));
    EXPECT_EQ(j.lines(), lines{"ran to its end"});
}

TEST(task_scope, goes_on_when_a_coroutine_waits_for_the_child_that_fails) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here);
        scope.spawn(writes, 5, log, "ran to its end");
        auto fails = fails_after(scope, 1, "seen");
        EXPECT_TRUE((co_await coflux::as_outcome(std::move(fails))).has_error());
        EXPECT_FALSE(scope.stop_requested());
        co_await scope.join();
    }(s.env, &j));
    EXPECT_EQ(j.lines(), lines{"ran to its end"});
}

TEST(task_scope, is_stopped_on_request_without_an_error) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here);
        scope.spawn(runs_until_stopped, log, "child");
        co_await coflux::yield();
        scope.request_stop();
        co_await scope.join();
        log->write("joined");
        co_await coflux::yield();  // not stopped itself
        log->write("went on");
    }(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"child dies", "joined", "went on"}));
}

TEST(task_scope, begins_what_is_added_after_a_stop_and_stops_it_at_its_first_stop_point) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here);
        scope.request_stop();
        scope.spawn(
            [](auto&&, journal* l) -> coflux::fork<void, hand> {
                l->write("began");
                co_await coflux::yield();
                l->write("not reached");
            },
            log);
        co_await scope.join();
    }(s.env, &j));
    EXPECT_EQ(j.lines(), lines{"began"});
}

TEST(task_scope, is_joined_before_the_locals_of_a_stopped_owner_die) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        auto owner = [](coflux::environment&, journal* l) -> coflux::fork<void, hand> {
            auto&& within = co_await coflux::context();
            const mortal local(*l, "owner");
            coflux::task_scope scope(within);
            scope.spawn(runs_until_stopped, l, "child");
            for (;;) co_await coflux::yield();
        }(here, log);
        for (int i = 0; i < 3; ++i) co_await coflux::yield();
        owner.request_stop();
        EXPECT_TRUE((co_await coflux::as_outcome(std::move(owner))).is_stopped());
    }(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"child dies", "owner dies"}));
}

TEST(task_scope, leaves_the_error_of_a_child_to_an_owner_that_is_stopped) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        auto owner = [](coflux::environment&) -> coflux::fork<void, hand> {
            auto&& within = co_await coflux::context();
            coflux::task_scope scope(within);
            auto below = coflux::make_environment(scope);
            const auto fails = [](coflux::environment&) -> coflux::fork<void, hand> {
                co_await coflux::yield();
                throw std::runtime_error("child");
            };
            scope.spawn(fails);
            fails(below).attach();
            co_await coflux::this_coroutine::stop();
        }(here);
        const auto end = co_await coflux::as_outcome(std::move(owner));
        EXPECT_TRUE(end.has_error());
    }(s.env));
}

TEST(task_scope, waits_in_join_for_children_that_stop_with_its_owner) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        auto owner = [](coflux::environment&, journal* l) -> coflux::fork<void, hand> {
            auto&& within = co_await coflux::context();
            coflux::task_scope scope(within);
            scope.spawn(runs_until_stopped, l, "child");
            co_await scope.join();
            l->write("joined");
            co_await coflux::yield();
            l->write("not reached");
        }(here, log);
        for (int i = 0; i < 3; ++i) co_await coflux::yield();
        owner.request_stop();
        EXPECT_TRUE((co_await coflux::as_outcome(std::move(owner))).is_stopped());
    }(s.env, &j));
    EXPECT_EQ(j.lines(), lines{"child dies"});  // a child was cut off, so join() stops
}

TEST(task_scope, spawns_tasks_and_moves_what_can_only_be_moved) {
    stage<hand> s;
    int sum = 0;
    s.run([](coflux::environment&, int* out) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here);
        scope.spawn(
            [](auto&&, move_only x, int* to) -> coflux::task<void, hand> {
                *to += *x.value;
                co_return;
            },
            move_only(3), out);
        scope.spawn(
            [](auto&&, std::unique_ptr<int> x, int* to) -> coflux::fork<int, hand> {
                *to += *x;
                co_return 1;
            },
            std::make_unique<int>(4), out);
        co_await scope.join();
        EXPECT_EQ(*out, 7);
    }(s.env, &sum));
}

TEST(task_scope, takes_one_frame_a_child_and_gives_it_back_at_once) {
    stage<hand> s;
    s.run([](coflux::environment&, coflux::counting_resource* frames) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here);
        const std::size_t before = frames->allocations();
        const std::size_t live = frames->live();
        for (int i = 0; i < 10; ++i) scope.spawn(ends_after, 1);
        EXPECT_EQ(frames->allocations(), before + 10);
        for (int i = 0; i < 3; ++i) co_await coflux::yield();
        EXPECT_EQ(frames->live(), live);
        co_await scope.join();
        frames->fail_at(1);
        EXPECT_THROW(scope.spawn(ends_after, 1), std::bad_alloc);
        co_await scope.join();
    }(s.env, &s.frames()));
}

coflux::fork<void, pool> counts(coflux::task_scope& scope, int depth, std::atomic<std::size_t>* ended) {
    if (depth != 0) {
        scope.spawn(counts, depth - 1, ended);
        scope.spawn(counts, depth - 1, ended);
        co_await coflux::yield();
    }
    ended->fetch_add(1, std::memory_order_relaxed);
}

coflux::fork<void, coflux::noop_executor> nests(coflux::environment&, std::size_t levels,
                                                coflux::borrowed<std::size_t> ended) {
    auto&& here = co_await coflux::context();
    coflux::task_scope scope(here);
    if (levels != 0) scope.spawn(nests, levels - 1, ended);
    co_await coflux::yield();
    co_await scope.join();
    ++ended.get();
}

TEST(task_scope, in_task_scopes_costs_the_same_at_each_level) {
    // The square of these would take minutes.
    constexpr std::size_t levels = coflux_test::sanitized ? 5'000 : 100'000;
    const auto allocations = [](std::size_t n) {
        pool workers{1};
        coflux::counting_resource frames;
        auto env = coflux::make_environment(&frames, workers);
        std::size_t ended = 0;
        [](coflux::environment&, std::size_t deep, coflux::borrowed<std::size_t> e) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            co_await nests(here, deep, e);
        }(env, n, coflux::borrowed(ended))
                                                                                           .get();
        EXPECT_EQ(ended, n + 1);
        return frames.allocations();
    };
    const std::size_t one = allocations(levels / 5);
    EXPECT_LE(allocations(levels), 5 * one);
}

TEST(task_scope, is_filled_by_coroutines_on_two_threads) {
    stage<pool> s;
    std::atomic<std::size_t> ended{0};
    s.run([](coflux::environment&, std::atomic<std::size_t>* count) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (int round = 0; round < 20; ++round) {
            coflux::task_scope scope(here);
            scope.spawn(counts, 6, count);
            co_await scope.join();
            EXPECT_EQ(count->load(), 127U * static_cast<std::size_t>(round + 1));
        }
    }(s.env, &ended));
}

TEST(task_scope, is_filled_and_stopped_by_a_thread_that_runs_no_coroutine) {
    stage<pool> s;
    flag filled;
    coflux::task_scope* known = nullptr;
    flag made;
    gate never;
    auto t = [](coflux::environment&, coflux::task_scope** out, flag* ready, flag* go_on) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here);
        *out = &scope;
        ready->set();
        while (!go_on->is_set()) co_await coflux::yield();
        co_await scope.join();
    }(s.env, &known, &made, &filled);
    std::thread([&] {
        made.wait();
        for (int i = 0; i < 50; ++i) {
            known->spawn([](auto&&, gate* at) -> coflux::fork<void, pool> { co_await at->wait(); }, &never);
        }
        known->request_stop();
        filled.set();
    }).join();
    t.join();
    EXPECT_FALSE(never.has_waiter());
}

coflux::task<std::size_t, pool> fails_in_each_round(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    std::size_t caught = 0;
    for (std::size_t i = 0; i < rounds; ++i) {
        coflux::task_scope scope(here);
        for (int k = 0; k < 4; ++k) {
            scope.spawn(
                [](auto&&, int yields, bool fails) -> coflux::fork<void, pool> {
                    for (int y = 0; y < yields; ++y) co_await coflux::yield();
                    if (fails) throw std::runtime_error("x");
                    for (;;) co_await coflux::yield();
                },
                static_cast<int>(i % 3) + k, k < 2);
        }
        try {
            co_await scope.join();
        } catch (const std::runtime_error&) {
            ++caught;
        }
    }
    co_return caught;
}

TEST(task_scope, stops_and_throws_where_errors_race) {
    stage<pool> s;
    const std::size_t rounds = race_rounds / 100;
    EXPECT_EQ(s.run(fails_in_each_round(s.env, rounds)), rounds);
}

coflux::fork<void, hand> never_driven(auto&&) {
    co_await coflux::yield();
}

void dies_unjoined() {
    hand by_hand;
    auto env = coflux::make_environment(by_hand);
    auto t = [](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here);
        scope.spawn([](auto&& in) { return never_driven(in); });
        co_return;
    }(env);
    by_hand.run_all();
}

TEST(task_scope_death, that_dies_unjoined_names_the_living) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(dies_unjoined(), "still alive: .*never_driven.*task_scope_test.cpp:[0-9]+");
}

class other_hand : public manual_executor {};

void adds_after_the_join() {
    hand mine;
    other_hand others;
    auto env = coflux::make_environment(mine, others);
    coflux::task_scope* known = nullptr;
    auto t = [](coflux::environment&, coflux::task_scope** out) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here);
        *out = &scope;
        scope.spawn([](auto&&) -> coflux::fork<void, other_hand> { co_return; });
        co_await scope.join();
    }(env, &known);
    mine.run_all();
    others.run_all();  // the last child ends, and the join is done but for its return
    known->spawn([](auto&&) -> coflux::fork<void, other_hand> { co_return; });
}

TEST(task_scope_death, that_was_joined_takes_no_child_before_join_returns) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(adds_after_the_join(), "added to a task_scope that has been joined");
}

}  // namespace
