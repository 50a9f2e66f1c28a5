// A failed check inside a coroutine says how that came to run: each coroutine from the inner one out, with its last
// await.
#include <coflux/base/assert.hpp>

#include <string>
#include <utility>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/no_hang.hpp"

namespace {

using coflux_test::manual_executor;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;

/// The fault that a check at the bottom finds.
enum class fault { empty_fork, blocking_wait };

coflux::fork<int, noop> gives_one(coflux::environment&) {
    co_return 1;
}

coflux::call<int> innermost_call(coflux::environment&, fault what) {
    auto&& here = co_await coflux::context();
    if (what == fault::empty_fork) {
        auto f = gives_one(here);
        (void)co_await std::move(f);
        co_return co_await std::move(f);
    }
    auto t = [](coflux::environment&) -> coflux::task<int, manual_executor> { co_return 1; }(here);
    co_return t.get();
}

coflux::call<int> middle_call(coflux::environment&, fault what) {
    auto&& here = co_await coflux::context();
    co_return co_await innermost_call(here, what);
}

template <typename E>
coflux::fork<int, E> calling_fork(coflux::environment&, fault what) {
    auto&& here = co_await coflux::context();
    co_return co_await middle_call(here, what);
}

template <typename E, typename F>
coflux::task<int, E> root_task(coflux::environment&, fault what) {
    auto&& here = co_await coflux::context();
    auto f = calling_fork<F>(here, what);
    co_return co_await std::move(f);
}

/// The same with an environment in between that is no coroutine.
template <typename E, typename F>
coflux::task<int, E> deriving_root_task(coflux::environment&, fault what) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
    auto f = calling_fork<F>(sub, what);
    const int got = co_await std::move(f);
    co_await sub.join();
    co_return got;
}

/// One line of the back-trace.
std::string in(const std::string& function) {
    return "  in " + function + " at [^\n]*back_trace_test\\.cpp:[0-9]+\n";
}

/// The whole of it, with nothing in between.
std::string trace(const std::string& root) {
    return in("innermost_call") + in("middle_call") + in("calling_fork") + in(root);
}

class back_trace_death : public testing::Test {
protected:
    // The pool's threads do not survive a fork of the process that does not exec.
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

template <typename E, typename F>
void fails(fault what) {
    coflux_test::die_rather_than_hang();
    manual_executor never_driven;
    if constexpr (std::is_same_v<E, pool>) {
        pool workers(1);
        auto env = coflux::make_environment(workers, noop{}, never_driven);
        root_task<E, F>(env, what).join();
    } else {
        auto env = coflux::make_environment(noop{}, never_driven);
        root_task<E, F>(env, what).join();
    }
}

void fails_below_a_derived_environment() {
    coflux_test::die_rather_than_hang();
    pool workers(1);
    auto env = coflux::make_environment(workers);
    deriving_root_task<pool, pool>(env, fault::empty_fork).join();
}

const char* const used_twice =
    "a handle was used after it was awaited, moved from or attached, or before it had a coroutine\n";

TEST_F(back_trace_death, names_the_coroutines_from_the_running_one_up_to_its_root) {
    EXPECT_DEATH((fails<pool, pool>(fault::empty_fork)), trace("root_task"));
    EXPECT_DEATH((fails<pool, noop>(fault::empty_fork)), trace("root_task"));
    EXPECT_DEATH((fails<noop, noop>(fault::empty_fork)), trace("root_task"));
}

TEST_F(back_trace_death, follows_the_message_of_the_check) {
    EXPECT_DEATH((fails<pool, pool>(fault::empty_fork)),
                 used_twice + std::string("  check failed: [^\n]*\n  at [^\n]*\n") + trace("root_task"));
    EXPECT_DEATH((fails<pool, pool>(fault::blocking_wait)),
                 "a blocking wait [^\n]*\n  check failed: [^\n]*\n  at [^\n]*\n" + trace("root_task"));
}

coflux::task<int, noop> awaits_twice(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto f = gives_one(here);
    const int one = co_await std::move(f);

    co_return one + co_await std::move(f);
}
constexpr int line_of_second_await = __LINE__ - 2;

TEST_F(back_trace_death, begins_with_the_second_await_of_what_was_awaited) {
    const auto fails_at_once = [] {
        auto env = coflux::make_environment();
        (void)awaits_twice(env).get();
    };
    const std::string place = "[^\n]*back_trace_test\\.cpp:" + std::to_string(line_of_second_await) + "\n";
    EXPECT_DEATH(fails_at_once(), used_twice + std::string("  check failed: [^\n]*\n  at ") + place +
                                      "  in [^\n]*awaits_twice at " + place);
}

TEST_F(back_trace_death, leaves_environments_out_that_are_no_coroutines) {
    EXPECT_DEATH(fails_below_a_derived_environment(), trace("deriving_root_task"));
}

void fails_outside_of_coroutines() {
    auto env = coflux::make_environment();
    auto t = [](coflux::environment&) -> coflux::task<int, noop> {
        auto&& here = co_await coflux::context();
        co_return co_await gives_one(here);
    }(env);
    (void)t.get();
    (void)t.get();
}

TEST_F(back_trace_death, is_left_out_where_no_coroutine_runs) {
    // Nothing but the location of the check comes after it.
    EXPECT_DEATH(fails_outside_of_coroutines(), used_twice + std::string("  check failed: [^\n]*\n  at [^\n]*\n$"));
}

coflux::call<int> nested(coflux::environment&, int depth) {
    auto&& here = co_await coflux::context();
    COFLUX_VERIFY(depth != 0, "at the bottom");
    co_return co_await nested(here, depth - 1);
}

TEST_F(back_trace_death, says_that_there_are_more_where_it_ends_before_the_root) {
    const auto fails_deep_down = [] {
        manual_executor by_hand;
        auto env = coflux::make_environment(by_hand);
        auto t = [](coflux::environment&) -> coflux::task<int, manual_executor> {
            auto&& here = co_await coflux::context();
            co_return co_await nested(here, 100);
        }(env);
        by_hand.run_all();
    };
    EXPECT_DEATH(fails_deep_down(), "at the bottom.*\n  in [^\n]*nested.*\n  in more coroutines above\n");
}

}  // namespace
