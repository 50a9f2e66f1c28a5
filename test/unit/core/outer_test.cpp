#include <coflux/core/outer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/executors.hpp"

namespace {

using coflux::environment;
using coflux_test::manual_executor;
using noop = coflux::noop_executor;

/// With NDEBUG nothing looks.
#ifdef NDEBUG
constexpr int told = 0;
#else
constexpr int told = 1;
#endif

template <typename E>
coflux::fork<void, E> child(environment&) {
    co_return;
}
template <typename E>
coflux::fork<void, E> makes_a_child(environment&) {
    auto&& here = co_await coflux::context();
    co_await child<E>(here);
}
template <typename E>
coflux::fork<void, E> makes_a_sibling(environment& env) {
    child<E>(env).attach();
    co_return;
}
template <typename E>
coflux::fork<void, E> makes_a_sibling_behind_its_context(environment& env) {
    auto&& here = co_await coflux::context();
    child<E>(env).attach();
    co_await child<E>(here);
}
template <typename E>
coflux::fork<void, E> makes_siblings_in_a_loop(environment& env) {
    for (int i = 0; i != 3; ++i) child<E>(env).attach();
    co_return;
}
/// An operation stops what it takes over.
template <typename E>
coflux::fork<void, E> awaits_its_siblings(environment& env) {
    auto kept = child<E>(env);
    auto&& here = co_await coflux::context();
    co_await std::move(kept);
    co_await makes_a_child<E>(here);
}
template <typename E>
coflux::fork<void, E> awaits_a_sibling(environment& env) {
    co_await child<E>(env);
}
template <typename E>
coflux::fork<void, E> awaits_a_sibling_as_outcome(environment& env) {
    EXPECT_TRUE((co_await coflux::as_outcome(child<E>(env))).has_value());
}
template <typename E>
coflux::fork<void, E> awaits_siblings_in_a_combinator(environment& env) {
    co_await coflux::when_all(child<E>(env), child<E>(env));
}
template <typename E>
coflux::fork<void, E> awaits_a_sibling_with_a_limit(environment& env) {
    EXPECT_TRUE(co_await coflux::timeout(child<E>(env), std::chrono::hours(1)));
}
template <typename E>
coflux::fork<void, E> awaits_something_else_first(environment& env) {
    auto kept = child<E>(env);
    co_await coflux::yield();
    co_await std::move(kept);
}
template <typename E>
coflux::fork<void, E> means_a_sibling(environment& env) {
    child<E>(coflux::outer(env)).attach();
    co_await coflux::yield();
    child<E>(coflux::outer(env)).attach();
}
/// A call has no children of its own: what it makes in its parameter belongs to its caller.
template <typename E>
coflux::call<void> makes_a_child_for_its_caller(environment& env) {
    child<E>(env).attach();
    co_return;
}
template <typename E>
coflux::fork<void, E> calls(environment&) {
    auto&& here = co_await coflux::context();
    co_await makes_a_child_for_its_caller<E>(here);
}
template <typename E>
coflux::fork<void, E> spawns_into_its_own_scope(environment&, coflux::borrowed<coflux::task_scope> scope) {
    scope->spawn([](coflux::task_scope& in) { return child<E>(in); });
    co_return;
}

/// How many siblings are told of while `f(here)` runs.
template <typename E, typename F>
int tellings(E& executor, F f) {
    constexpr auto runs = [](environment&, F of) -> coflux::task<void, E> {
        auto&& here = co_await coflux::context();
        co_await of(here);
    };
    testing::internal::CaptureStderr();
    {
        auto env = coflux::make_environment(executor);
        auto t = runs(env, f);
        if constexpr (requires { executor.run_all(); }) executor.run_all();
        t.get();
    }
    const std::string text = testing::internal::GetCapturedStderr();
    int count = 0;
    for (std::size_t at = 0; (at = text.find("a sibling, which it neither joins nor stops", at)) != std::string::npos;
         ++at)
        ++count;
    return count;
}

template <typename E>
void expect_what_is_told(E& executor) {
    EXPECT_EQ(tellings(executor, [](environment& here) { return makes_a_child<E>(here); }), 0);
    EXPECT_EQ(tellings(executor, [](environment& here) { return calls<E>(here); }), 0);
    EXPECT_EQ(tellings(executor, [](environment& here) { return means_a_sibling<E>(here); }), 0);
    EXPECT_EQ(tellings(executor, [](environment& here) { return awaits_a_sibling<E>(here); }), 0);
    EXPECT_EQ(tellings(executor, [](environment& here) { return awaits_its_siblings<E>(here); }), 0);
    EXPECT_EQ(tellings(executor, [](environment& here) { return awaits_a_sibling_as_outcome<E>(here); }), 0);
    EXPECT_EQ(tellings(executor, [](environment& here) { return awaits_siblings_in_a_combinator<E>(here); }), 0);
    EXPECT_EQ(tellings(executor, [](environment& here) { return awaits_a_sibling_with_a_limit<E>(here); }), 0);
    EXPECT_EQ(tellings(executor, [](environment& here) { return awaits_something_else_first<E>(here); }), told);
    EXPECT_EQ(tellings(executor, [](environment& here) { return makes_a_sibling<E>(here); }), told);
    EXPECT_EQ(tellings(executor, [](environment& here) { return makes_a_sibling<E>(here); }), 0) << "once";
    EXPECT_EQ(tellings(executor, [](environment& here) { return makes_a_sibling_behind_its_context<E>(here); }), told);
    EXPECT_EQ(tellings(executor, [](environment& here) { return makes_siblings_in_a_loop<E>(here); }), told);
}

/// In a process of its own: a place is told once.
template <typename E, typename... Args>
[[noreturn]] void looks_at(Args... args) {
    {
        E executor(args...);
        expect_what_is_told(executor);
    }
    std::exit(testing::Test::HasFailure() ? 1 : 0);
}
TEST(outer_death, names_a_sibling_that_is_meant_and_others_are_told_once_for_each_place) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(looks_at<manual_executor>(), testing::ExitedWithCode(0), "");
}
TEST(outer_death, names_siblings_on_a_pool) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(looks_at<coflux::thread_pool_executor>(std::size_t{1}), testing::ExitedWithCode(0), "");
}
TEST(outer_death, names_siblings_of_coroutines_that_begin_in_the_call) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(looks_at<noop>(), testing::ExitedWithCode(0), "");
}

coflux::task<void, manual_executor> spawns(environment&) {
    auto&& here = co_await coflux::context();
    coflux::task_scope scope(here);
    scope.spawn(
        [](coflux::task_scope& in, coflux::borrowed<coflux::task_scope> of) {
            return spawns_into_its_own_scope<manual_executor>(in, of);
        },
        coflux::borrowed(scope));
    co_await scope.join();
}
TEST(outer, is_said_by_spawn) {
    testing::internal::CaptureStderr();
    {
        manual_executor by_hand;
        auto env = coflux::make_environment(by_hand);
        auto t = spawns(env);
        by_hand.run_all();
        t.join();
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(outer, is_the_environment_itself) {
    auto env = coflux::make_environment(noop{});
    environment& e = env;
    EXPECT_EQ(&coflux::outer(e), &e);
    static_assert(std::is_same_v<decltype(coflux::outer(env)), decltype(env)&>);
}

}  // namespace
