// Law 4: stop is the third outcome. A request goes down the tree, every suspension is a stop point, and the coroutine
// is unwound without throwing: its children are joined before its locals die, and those die before its awaiter goes on.
#include <coflux/coflux.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/foreign_event.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::foreign_event;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::mortal;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;
using lines = std::vector<std::string>;

// --- which coroutines can ask ----------------------------------------------------------------------------------------

coflux::task<int, manual_executor> yields_for_ever(auto&&) {
    for (;;) co_await coflux::yield();
}

coflux::fork<int, manual_executor> child_for_ever(auto&&) {
    for (;;) co_await coflux::yield();
}

TEST(law_04_stop, a_task_whose_stop_is_requested_stops_at_its_next_yield) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto t = yields_for_ever(env);
    for (int i = 0; i < 3; ++i) by_hand.run_one();
    EXPECT_FALSE(t.done());
    t.request_stop();
    by_hand.run_all();
    ASSERT_TRUE(t.done());
    EXPECT_THROW((void)t.get(), coflux::task_stopped);
}

TEST(law_04_stop, the_join_of_a_stopped_task_throws_nothing) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto t = yields_for_ever(env);
    t.request_stop();
    by_hand.run_all();
    EXPECT_NO_THROW(t.join());
}

TEST(law_04_stop, a_fork_whose_stop_is_requested_stops_and_its_sibling_does_not) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    journal j;
    auto root = [](auto&&, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto stopped = child_for_ever(here);
        auto sibling = [](auto&&, journal* inner) -> coflux::fork<void, manual_executor> {
            for (int i = 0; i < 5; ++i) co_await coflux::yield();
            inner->write("sibling ended");
        }(here, log);
        stopped.request_stop();
        auto o = co_await coflux::as_outcome(std::move(stopped));
        EXPECT_TRUE(o.is_stopped());
        co_await std::move(sibling);
        log->write("parent goes on");
    }(env, &j);
    by_hand.run_all();
    ASSERT_TRUE(root.done());
    EXPECT_EQ(j.lines(), (lines{"sibling ended", "parent goes on"}));
}

TEST(law_04_stop, a_stop_of_an_environment_reaches_all_that_is_and_will_be_made_in_it) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto before = yields_for_ever(env);
    by_hand.run_one();
    env.request_stop();
    auto after = yields_for_ever(env);
    by_hand.run_all();
    ASSERT_TRUE(before.done());
    ASSERT_TRUE(after.done());
    EXPECT_TRUE(env.stop_requested());
}

TEST(law_04_stop, a_stop_of_a_derived_environment_leaves_its_owner_alone) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    journal j;
    auto root = [](auto&&, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        auto inside = child_for_ever(sub);
        auto outside = [](auto&&) -> coflux::fork<int, manual_executor> {
            co_await coflux::yield();
            co_return 3;
        }(here);
        sub.request_stop();
        EXPECT_FALSE(here.stop_requested());
        co_await sub.join();
        const auto o = co_await coflux::as_outcome(std::move(inside));
        EXPECT_TRUE(o.is_stopped());
        EXPECT_EQ(co_await std::move(outside), 3);
        log->write("end");
    }(env, &j);
    by_hand.run_all();
    ASSERT_TRUE(root.done());
    EXPECT_EQ(j.lines(), lines{"end"});
}

coflux::fork<void, pool> deep(coflux::environment&, coflux_test::flag* bottom, int depth) {
    auto&& here = co_await coflux::context();
    if (depth > 0) co_await deep(here, bottom, depth - 1);
    bottom->set();
    for (;;) co_await coflux::yield();
}

TEST(law_04_stop, a_request_from_another_thread_reaches_a_deep_tree) {
    pool workers(2);
    auto env = coflux::make_environment(workers);
    coflux_test::flag started;
    auto root = [](auto&&, coflux_test::flag* up) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        co_await deep(here, up, 50);
    }(env, &started);
    started.wait();
    root.request_stop();
    root.join();
    EXPECT_TRUE(root.done());
}

// --- where it takes effect -------------------------------------------------------------------------------------------

coflux::fork<int, manual_executor> three(auto&&) {
    co_await coflux::yield();
    co_return 3;
}

coflux::call<int> called(auto&&) {
    co_return 3;
}

using stop_point = coflux::call<void> (*)(coflux::environment&);

coflux::call<void> at_yield(coflux::environment&) {
    co_await coflux::yield();
}
coflux::call<void> at_await(coflux::environment& env) {
    (void)co_await three(env);
}
coflux::call<void> at_outcome(coflux::environment& env) {
    (void)co_await coflux::as_outcome(three(env));
}
coflux::call<void> at_call(coflux::environment& env) {
    (void)co_await called(env);
}
coflux::call<void> at_view(coflux::environment& env) {
    auto f = three(env);
    co_await f.view();
}
coflux::call<void> at_when_all(coflux::environment& env) {
    auto a = three(env);
    auto b = three(env);
    (void)co_await coflux::when_all(std::move(a), std::move(b));
}
coflux::call<void> at_when_all_range(coflux::environment& env) {
    std::vector<coflux::fork<int, manual_executor>> forks;
    forks.push_back(three(env));
    (void)co_await coflux::when_all(std::move(forks));
}

coflux::fork<void, manual_executor> stopped_at(auto&&, stop_point point, journal* j) {
    auto&& here = co_await coflux::context();
    here.request_stop();
    const auto token = co_await coflux::this_coroutine::stop_token();
    EXPECT_TRUE(token.stop_requested());
    j->write("asked");
    co_await point(here);
    j->write("went past");
}

TEST(law_04_stop, no_await_that_suspends_is_passed_after_a_request) {
    // The await of the call is itself the stop point of the caller, so each point is also entered directly below.
    for (const stop_point point : {at_yield, at_await, at_outcome, at_call, at_view, at_when_all, at_when_all_range}) {
        manual_executor by_hand;
        auto env = coflux::make_environment(by_hand);
        journal j;
        auto root = [](auto&&, stop_point p, journal* log) -> coflux::task<void, manual_executor> {
            auto&& here = co_await coflux::context();
            const auto o = co_await coflux::as_outcome(stopped_at(here, p, log));
            EXPECT_TRUE(o.is_stopped());
        }(env, point, &j);
        by_hand.run_all();
        ASSERT_TRUE(root.done());
        EXPECT_EQ(j.lines(), lines{"asked"});
    }
}

coflux::fork<void, manual_executor> stopped_inside(auto&&, stop_point point, foreign_event* go, journal* j) {
    auto&& here = co_await coflux::context();
    co_await *go;  // not a stop point: the request comes while it waits here
    j->write("asked to stop");
    co_await point(here);
    j->write("went past");
}

TEST(law_04_stop, a_request_while_a_foreign_awaitable_is_awaited_takes_effect_at_the_next_stop_point) {
    for (const stop_point point : {at_yield, at_await, at_outcome, at_call, at_view, at_when_all, at_when_all_range}) {
        manual_executor by_hand;
        auto env = coflux::make_environment(by_hand);
        foreign_event go;
        journal j;
        auto root = [](auto&&, stop_point p, foreign_event* e, journal* log) -> coflux::task<void, manual_executor> {
            auto&& here = co_await coflux::context();
            auto f = stopped_inside(here, p, e, log);
            co_await coflux::yield();
            f.request_stop();
            const auto o = co_await coflux::as_outcome(std::move(f));
            EXPECT_TRUE(o.is_stopped());
        }(env, point, &go, &j);
        by_hand.run_all();
        ASSERT_FALSE(root.done());
        go.set();
        by_hand.run_all();
        ASSERT_TRUE(root.done());
        EXPECT_EQ(j.lines(), lines{"asked to stop"});
    }
}

/// As `stopped_at`, but the point is the coroutine's own await.
template <typename Await>
coflux::fork<void, manual_executor> stopped_itself_at(auto&&, Await await, journal* j) {
    auto&& here = co_await coflux::context();
    coflux::environment& env = here;
    here.request_stop();
    co_await await(env);
    j->write("went past");
}

template <typename Await>
void expect_own_stop_at(Await await) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    journal j;
    auto root = [](auto&&, Await a, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        const auto o = co_await coflux::as_outcome(stopped_itself_at(here, a, log));
        EXPECT_TRUE(o.is_stopped());
    }(env, await, &j);
    by_hand.run_all();
    ASSERT_TRUE(root.done());
    EXPECT_EQ(j.lines(), lines{});
}

TEST(law_04_stop, the_awaits_of_the_stopped_coroutine_itself_are_stop_points) {
    expect_own_stop_at([](coflux::environment&) { return coflux::yield(); });
    expect_own_stop_at([](coflux::environment&) { return coflux::this_coroutine::yield(); });
    expect_own_stop_at([](coflux::environment&) { return coflux::this_coroutine::stop(); });
    expect_own_stop_at([](coflux::environment& env) { return three(env); });
    expect_own_stop_at([](coflux::environment& env) { return three(env).view(); });
    expect_own_stop_at([](coflux::environment& env) { return at_yield(env); });
}

}  // namespace
