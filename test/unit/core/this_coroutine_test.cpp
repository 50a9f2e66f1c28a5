#include <coflux/core/this_coroutine.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "stage.hpp"
#include "support/executors.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::mortal;
using coflux_test::stage;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;
using lines = std::vector<std::string>;
namespace self = coflux::this_coroutine;

// --- executor --------------------------------------------------------------------------------------------------------

coflux::call<coflux::executor_ref> executor_of_call(auto&&) {
    co_return co_await self::executor();
}

template <typename E>
coflux::fork<coflux::executor_ref, E> executor_of_fork(auto&&) {
    co_return co_await self::executor();
}

TEST(this_coroutine, executor_is_the_one_that_it_runs_on) {
    stage<manual_executor, pool> s;
    const auto root = [](coflux::environment&, coflux::borrowed<manual_executor> by_hand,
                         coflux::borrowed<pool> workers) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        const coflux::executor_ref own = co_await self::executor();
        EXPECT_TRUE(static_cast<bool>(own));
        EXPECT_TRUE(own.is(*by_hand));
        EXPECT_FALSE(own.is(*workers));
        const coflux::executor_ref of_call = co_await executor_of_call(here);
        EXPECT_TRUE(of_call == own);
        const coflux::executor_ref of_noop = co_await executor_of_fork<noop>(here);
        EXPECT_TRUE(of_noop == own);
        const coflux::executor_ref inherited = co_await executor_of_fork<coflux::inherit_executor>(here);
        EXPECT_TRUE(inherited == own);
    };
    s.run(root(s.env, coflux::borrowed(s.root), coflux::borrowed(s.child)));
    const auto in_pool = [](coflux::environment&, coflux::borrowed<pool> workers) -> coflux::task<bool, pool> {
        const coflux::executor_ref own = co_await self::executor();
        co_return own.is(*workers);
    };
    EXPECT_TRUE(in_pool(s.env, coflux::borrowed(s.child)).get());
}

TEST(this_coroutine, executors_are_equal_where_they_are_one_in_whatever_environment) {
    manual_executor one;
    manual_executor other;
    auto with_one = coflux::make_environment(one);
    auto with_one_too = coflux::make_environment(one);
    auto with_other = coflux::make_environment(other);
    const auto asks = [](coflux::environment&) -> coflux::task<coflux::executor_ref, manual_executor> {
        co_return co_await self::executor();
    };
    auto a = asks(with_one);
    auto b = asks(with_one_too);
    auto c = asks(with_other);
    one.run_all();
    other.run_all();
    const coflux::executor_ref of_a = a.get();
    EXPECT_TRUE(of_a == b.get());
    EXPECT_FALSE(of_a == c.get());
    const coflux::executor_ref none(nullptr);
    EXPECT_FALSE(of_a == none);
    EXPECT_FALSE(none == of_a);
    EXPECT_FALSE(none);
}

TEST(this_coroutine, executor_is_none_below_noop_executors_only) {
    stage<noop> s;
    const auto root = [](coflux::environment&) -> coflux::task<bool, noop> {
        const coflux::executor_ref own = co_await self::executor();
        co_return static_cast<bool>(own);
    };
    EXPECT_FALSE(s.run(root(s.env)));
}

/// A coroutine without an owner, that notes when it is resumed.
struct detached {
    struct promise_type {
        detached get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() const noexcept { std::terminate(); }
    };
    std::coroutine_handle<> handle;
};
detached tells(journal& j) {
    j.write("detached");
    co_return;
}

TEST(this_coroutine, executor_runs_what_it_is_given) {
    stage<manual_executor> s;
    journal j;
    const auto root = [](coflux::environment&, journal* log) -> coflux::task<void, manual_executor> {
        const coflux::executor_ref own = co_await self::executor();
        own.execute(tells(*log).handle);
        log->write("root");
    };
    s.run(root(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"root", "detached"}));
}

// --- memory_resource, deadline, stop_token ---------------------------------------------------------------------------

TEST(this_coroutine, memory_resource_is_its_environments) {
    stage<noop> s;
    const auto root = [](coflux::environment&, std::pmr::memory_resource* expected) -> coflux::task<bool, noop> {
        auto&& here = co_await coflux::context();
        co_return co_await self::memory_resource() == expected&& here.memory_resource() == expected;
    };
    EXPECT_TRUE(s.run(root(s.env, &s.frames())));
    auto env = coflux::make_environment();
    EXPECT_TRUE(root(env, &coflux::frame_pool::shared()).get());
}

TEST(this_coroutine, deadline_is_that_of_the_derived_environment_it_was_made_in) {
    stage<noop> s;
    using time_point = std::chrono::steady_clock::time_point;
    const auto root = [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        EXPECT_EQ(co_await self::deadline(), std::nullopt);
        auto sub = coflux::make_environment(here, time_point(std::chrono::hours(5)));
        auto f = [](coflux::environment&) -> coflux::fork<void, noop> {
            EXPECT_EQ(co_await self::deadline(), time_point(std::chrono::hours(5)));
        }(sub);
        co_await std::move(f);
        co_await sub.join();
    };
    s.run(root(s.env));
}

TEST(this_coroutine, stop_token_tells_of_a_stop_without_stopping) {
    stage<noop> s;
    const auto root = [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        const coflux::stop_token token = co_await self::stop_token();
        EXPECT_FALSE(token.stop_requested());
        here.request_stop();
        EXPECT_TRUE(token.stop_requested());
        co_return;
    };
    auto t = root(s.env);
    EXPECT_NO_THROW(t.get());
}

// --- stop ------------------------------------------------------------------------------------------------------------

TEST(this_coroutine, stop_ends_it_and_leaves_its_children_alone) {
    stage<manual_executor> s;
    journal j;
    const auto root = [](coflux::environment&, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        const mortal local(*log, "local");
        coflux_test::gives<manual_executor>(here, 5, [log] { log->write("child ended"); }).attach();
        co_await self::stop();
        log->write("not reached");
    };
    auto t = root(s.env, &j);
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"child ended", "local dies"}));
    EXPECT_THROW(t.get(), coflux::task_stopped);
}

// --- yield -----------------------------------------------------------------------------------------------------------

coflux::fork<void, manual_executor> takes_turns(auto&&, journal* j, std::string name) {
    for (int i = 0; i < 2; ++i) {
        j->write(name + std::to_string(i));
        co_await coflux::yield();
    }
}

TEST(this_coroutine, yield_lets_the_others_of_its_executor_run_first) {
    stage<manual_executor> s;
    journal j;
    const auto root = [](coflux::environment&, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto a = takes_turns(here, log, "a");
        auto b = takes_turns(here, log, "b");
        co_await self::yield();
        log->write("root");
        co_await std::move(a);
        co_await std::move(b);
    };
    s.run(root(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"a0", "b0", "root", "a1", "b1"}));
}

TEST(this_coroutine, yield_goes_on_where_there_is_no_coroutine_to_yield_to) {
    stage<noop> s;
    const auto root = [](coflux::environment&) -> coflux::task<int, noop> {
        int count = 0;
        for (; count < 100; ++count) co_await self::yield();
        co_return count;
    };
    auto t = root(s.env);
    EXPECT_TRUE(t.done());
    EXPECT_EQ(t.get(), 100);
}

TEST(this_coroutine, yield_is_a_stop_point_even_where_it_need_not_suspend) {
    stage<noop> s;
    journal j;
    const auto root = [](coflux::environment&, journal* log) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        here.request_stop();
        co_await self::yield();
        log->write("not reached");
    };
    auto t = root(s.env, &j);
    EXPECT_THROW(t.get(), coflux::task_stopped);
    EXPECT_EQ(j.lines(), lines{});
}

TEST(this_coroutine, yield_of_many_coroutines_in_a_pool_runs_each_to_its_end) {
    stage<pool> s;
    const auto root = [](coflux::environment&) -> coflux::task<int, pool> {
        auto&& here = co_await coflux::context();
        std::vector<coflux::fork<int, pool>> forks;
        for (int i = 0; i < 50; ++i) forks.push_back(coflux_test::gives<pool>(here, i, [] { return 1; }));
        int sum = 0;
        for (auto& f : forks) sum += co_await std::move(f);
        co_return sum;
    };
    EXPECT_EQ(s.run(root(s.env)), 50);
}

}  // namespace
