// A pool, or the thread of the timers, and POSIX fork(): the child has none of the threads.
#include <chrono>
#include <cstdlib>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/iterations.hpp"

namespace {

using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

coflux::task<int, pool> seven(coflux::environment&) {
    co_await coflux::yield();
    co_return 7;
}
coflux::task<int, noop> sleeps(coflux::environment&) {
    co_await 1ms;
    co_return 8;
}

/// Death tests in the fast style are what the tests are about: a fork() of this process that goes on in the child.
class thread_pool_process_death : public testing::Test {
    void SetUp() override {
#if COFLUX_TEST_TSAN
        GTEST_SKIP() << "ThreadSanitizer ends a child that makes threads";
#endif
        GTEST_FLAG_SET(death_test_style, "fast");
    }
};

TEST_F(thread_pool_process_death, a_child_that_uses_the_pool_of_its_parent_is_refused) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    EXPECT_EQ(seven(env).get(), 7);
    EXPECT_DEATH((void)seven(env).get(), "a thread pool that was made before fork\\(\\) is used in the child");
    EXPECT_EQ(seven(env).get(), 7) << "the parent's is as it was";
}

TEST_F(thread_pool_process_death, a_child_that_sleeps_without_a_pool_is_refused) {
    auto env = coflux::make_environment();
    EXPECT_EQ(sleeps(env).get(), 8);
    EXPECT_DEATH((void)sleeps(env).get(), "sleeps in the child of a fork\\(\\)");
}

coflux::call<bool> polls(coflux::environment&) {
    auto stop = co_await coflux::this_coroutine::stop_token();
    const auto begin = std::chrono::steady_clock::now();
    while (!stop.stop_requested() && std::chrono::steady_clock::now() - begin < 10s) {}
    co_return stop.stop_requested();
}
/// 1 if a thread other than the only worker sees that time is up.
coflux::task<int, pool> limits_what_computes(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto saw_stop = co_await coflux::timeout(polls(here), 20ms);
    co_return !saw_stop.timed_out() && *saw_stop ? 1 : 2;
}

TEST_F(thread_pool_process_death, a_child_has_its_own_watcher_of_timers) {
    pool threads{1};
    auto env = coflux::make_environment(threads);
    EXPECT_EQ(limits_what_computes(env).get(), 1) << "the parent's has begun";
    EXPECT_EXIT(
        {
            pool own{1};
            auto of_child = coflux::make_environment(own);
            const int value = limits_what_computes(of_child).get();
            if (coflux_test::sanitized) std::_Exit(value);
            std::exit(value);
        },
        testing::ExitedWithCode(1), "");
    EXPECT_EQ(limits_what_computes(env).get(), 1);
}

TEST_F(thread_pool_process_death, a_child_may_destroy_the_pool_make_its_own_and_end) {
    std::optional<pool> threads(std::in_place, 2U);
    auto env = coflux::make_environment();
    EXPECT_EQ(sleeps(env).get(), 8);
    EXPECT_EXIT(
        {
            threads.reset();
            pool own{1};
            auto of_child = coflux::make_environment(own);
            const int value = seven(of_child).get();
            if (coflux_test::sanitized) std::_Exit(value);  // what the parent's threads hold would be reported as leaks
            std::exit(value);                               // with the destructors of static objects
        },
        testing::ExitedWithCode(7), "");
}

}  // namespace
