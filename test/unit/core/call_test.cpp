#include <coflux/core/call.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "by_hand.hpp"
#include "support/executors.hpp"
#include "support/foreign_event.hpp"
#include "support/no_hang.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::by_hand;
using coflux_test::foreign_event;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::move_only;
using coflux_test::over_aligned;
using coflux_test::root_by_hand;
using noop = coflux::noop_executor;
using lines = std::vector<std::string>;

static_assert(!std::is_move_constructible_v<coflux::call<int>>);
static_assert(!std::is_copy_constructible_v<coflux::call<int>>);

coflux::call<void> writes(coflux::environment&, journal* j, const char* line) {
    j->write(line);
    co_return;
}

coflux::task<void, noop> calls_in_order(coflux::environment& env, journal* j) {
    j->write("before");
    co_await writes(env, j, "inside");
    j->write("after");
}

TEST(call, runs_inside_the_await) {
    auto env = coflux::make_environment();
    journal j;
    calls_in_order(env, &j).get();
    EXPECT_EQ(j.lines(), (lines{"before", "inside", "after"}));
}

TEST(call, that_is_not_awaited_never_begins_and_frees_its_frame) {
    coflux::counting_resource frames;
    auto env = coflux::make_environment(&frames);
    journal j;
    (void)writes(env, &j, "never");
    EXPECT_EQ(j.lines(), lines{});
    EXPECT_EQ(frames.allocations(), 1U);
    EXPECT_EQ(frames.live(), 0U);
}

coflux::call<void> appends(coflux::environment&, std::string& to, const std::string& what) {
    co_await coflux::yield();
    to += what;
}

coflux::call<move_only> gives_move_only(coflux::environment&, move_only m) {
    co_return std::move(m);
}
coflux::call<int&> gives_reference(coflux::environment&, int& r) {
    co_return r;
}
coflux::call<over_aligned> gives_over_aligned(coflux::environment&, over_aligned parameter) {
    over_aligned local(parameter.value);
    EXPECT_TRUE(parameter.is_aligned());
    EXPECT_TRUE(local.is_aligned());
    co_await coflux::yield();
    co_return over_aligned(local.value + 1);
}

root_by_hand takes_all_kinds(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::string text = "a";
    const std::string more = "bc";
    co_await appends(here, text, more);
    EXPECT_EQ(text, "abc");
    const move_only got = co_await gives_move_only(here, move_only(4));
    EXPECT_EQ(*got.value, 4);
    int target = 0;
    int& referred = co_await gives_reference(here, target);
    EXPECT_EQ(&referred, &target);
    const over_aligned aligned = co_await gives_over_aligned(here, over_aligned(6));
    EXPECT_EQ(aligned.value, 7);
}

TEST(call, takes_references_and_gives_move_only_reference_void_and_over_aligned_types) {
    by_hand s;
    s.play(takes_all_kinds(s.env));
}

coflux::call<int> fails(coflux::environment&, bool late) {
    if (late) co_await coflux::yield();
    throw std::domain_error("called");
}

root_by_hand catches(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (const bool late : {false, true}) {
        EXPECT_THROW((void)co_await fails(here, late), std::domain_error);
        auto o = co_await coflux::as_outcome(fails(here, late));
        EXPECT_TRUE(o.has_error());
    }
}

TEST(call, throws_to_its_caller) {
    by_hand s;
    EXPECT_NO_THROW(s.play(catches(s.env)));
}

coflux::call<void> waits(coflux::environment&, foreign_event* event) {
    co_await *event;
}
coflux::call<void> waits_deeper(coflux::environment& env, foreign_event* event) {
    co_await waits(env, event);
}
root_by_hand waits_in_calls(coflux::environment& env, foreign_event* event) {
    co_await waits_deeper(env, event);
}

TEST(call, that_suspends_suspends_its_caller) {
    by_hand s;
    auto t = waits_in_calls(s.env, &s.go);
    s.executor.run_all();
    EXPECT_FALSE(t.done());
    s.go.set();
    EXPECT_EQ(s.executor.pending(), 1U);  // the callee alone is queued; the callers follow by transfer
    EXPECT_EQ(s.executor.run_all(), 1U);
    EXPECT_TRUE(t.done());
}

struct counter {
    int value = 0;
    coflux::call<int> next(coflux::environment&) { co_return ++value; }
};

coflux::task<int, noop> counts(coflux::environment& env, counter* c) {
    (void)co_await c->next(env);
    co_return co_await c->next(env);
}

TEST(call, may_be_a_member_function) {
    auto env = coflux::make_environment();
    counter c;
    EXPECT_EQ(counts(env, &c).get(), 2);
}

TEST(call, may_be_a_lambda_with_captures_because_it_ends_before_they_do) {
    auto env = coflux::make_environment();
    const int got = [](coflux::environment&) -> coflux::task<int, noop> {
        auto&& here = co_await coflux::context();
        int sum = 0;
        auto add = [&sum](coflux::environment&, int x) -> coflux::call<void> {
            sum += x;
            co_return;
        };
        co_await add(here, 2);
        co_await add(here, 3);
        co_return sum;
    }(env)
                                                    .get();
    EXPECT_EQ(got, 5);
}

coflux::call<int> forks_in_a_call(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto f = [](coflux::environment&) -> coflux::fork<int, manual_executor> {
        co_await coflux::yield();
        co_return 8;
    }(here);
    co_return co_await std::move(f);
}

TEST(call, is_the_environment_of_the_children_made_in_it) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto t = [](coflux::environment& e) -> coflux::task<int, manual_executor> {
        co_return co_await forks_in_a_call(e);
    }(env);
    by_hand.run_all();
    EXPECT_EQ(t.get(), 8);
}

coflux::call<int> makes_a_fork_for_its_caller(coflux::environment& callers) {
    auto f = [](coflux::environment&) -> coflux::fork<int, manual_executor> {
        co_await coflux::yield();
        co_return 8;
    }(callers);
    co_await coflux::yield();
    co_return co_await std::move(f);
}

TEST(call, may_make_children_for_its_caller_and_await_them) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto t = [](coflux::environment&) -> coflux::task<int, manual_executor> {
        auto&& here = co_await coflux::context();
        co_return co_await makes_a_fork_for_its_caller(here);
    }(env);
    by_hand.run_all();
    EXPECT_EQ(t.get(), 8);
}

coflux::call<int> gives_three(coflux::environment&, bool suspends) {
    if (suspends) co_await coflux::yield();
    co_return 3;
}
coflux::call<int> is_stopped(coflux::environment&) {
    co_await coflux::this_coroutine::stop();
    co_return 3;
}

template <typename E>
void awaits_a_call_twice(E executor, bool suspends) {
    coflux_test::die_rather_than_hang();
    auto env = coflux::make_environment(executor);
    [](coflux::environment&, bool suspends) -> coflux::task<int, E> {
        auto&& here = co_await coflux::context();
        auto c = gives_three(here, suspends);
        const int once = co_await std::move(c);
        co_return once + co_await std::move(c);
    }(env, suspends)
                                                   .join();
}

void asks_for_the_outcome_of_an_awaited_call() {
    coflux_test::die_rather_than_hang();
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto c = gives_three(here, false);
        (void)co_await std::move(c);
        (void)co_await coflux::as_outcome(std::move(c));
    }(env)
                                    .join();
}

void awaits_a_call_that_was_stopped() {
    coflux_test::die_rather_than_hang();
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto c = is_stopped(here);
        (void)co_await coflux::as_outcome(std::move(c));
        (void)co_await std::move(c);
    }(env)
                                    .join();
}

void awaits_a_call_that_failed() {
    coflux_test::die_rather_than_hang();
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto c = fails(here, false);
        (void)co_await coflux::as_outcome(std::move(c));
        (void)co_await std::move(c);
    }(env)
                                    .join();
}

class call_death : public testing::Test {
protected:
    // The pool's threads do not survive a fork of the process that does not exec.
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(call_death, an_await_of_what_has_been_awaited_is_refused) {
    for (const bool suspends : {false, true}) {
        EXPECT_DEATH(awaits_a_call_twice(noop(), suspends), "a call was awaited twice");
        EXPECT_DEATH(awaits_a_call_twice(coflux::thread_pool_executor(1), suspends), "a call was awaited twice");
    }
    EXPECT_DEATH(asks_for_the_outcome_of_an_awaited_call(), "a call was awaited twice");
}

TEST_F(call_death, an_await_of_what_ended_without_a_value_is_refused) {
    EXPECT_DEATH(awaits_a_call_that_failed(), "a call was awaited twice");
    EXPECT_DEATH(awaits_a_call_that_was_stopped(), "a call was awaited twice");
}

}  // namespace
