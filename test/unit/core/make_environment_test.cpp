#include <coflux/core/make_environment.hpp>

#include <chrono>
#include <memory_resource>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

namespace {

using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

coflux::task<std::pmr::memory_resource*, noop> memory_of(coflux::environment&) {
    co_return co_await coflux::this_coroutine::memory_resource();
}

TEST(make_environment, uses_the_frame_pool_unless_it_is_given_another_resource) {
    auto plain = coflux::make_environment();
    EXPECT_EQ(memory_of(plain).get(), &coflux::frame_pool::shared());
    coflux::counting_resource counting;
    auto counted = coflux::make_environment(&counting, noop{});
    EXPECT_EQ(memory_of(counted).get(), &counting);
    EXPECT_GT(counting.allocations(), 0U);
    EXPECT_EQ(counting.live(), 0U);
}

TEST(make_environment, owns_executors_given_by_value) {
    auto env = coflux::make_environment(pool{1});
    const int n = [](coflux::environment&) -> coflux::task<int, pool> { co_return 4; }(env).get();
    EXPECT_EQ(n, 4);
}

TEST(make_environment, tells_executors_of_one_type_apart_by_index) {
    pool first{1};
    pool second{1};
    auto env = coflux::make_environment(first, second);
    const bool right = [](coflux::environment&, pool* expected) -> coflux::task<bool, coflux::index<pool, 1>> {
        co_return (co_await coflux::this_coroutine::executor()).is(*expected);
    }(env, &second)
                                                                       .get();
    EXPECT_TRUE(right);
}

TEST(make_environment, derives_memory_and_the_nearest_deadline_and_is_joined) {
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        EXPECT_FALSE((co_await coflux::this_coroutine::deadline()).has_value());
        coflux::counting_resource counting;
        const auto near = std::chrono::steady_clock::time_point(std::chrono::seconds(5));
        const auto far = std::chrono::steady_clock::time_point(std::chrono::seconds(9));
        {
            auto outer = coflux::make_environment(here, near, &counting);
            auto sub = coflux::make_environment(outer, far);
            EXPECT_EQ(sub.deadline(), near);
            auto child = [](coflux::environment&) -> coflux::fork<int> { co_return 3; }(sub);
            EXPECT_EQ(co_await std::move(child), 3);
            co_await sub.join();
            co_await outer.join();
        }
        EXPECT_GT(counting.allocations(), 0U);
        EXPECT_EQ(counting.live(), 0U);
    }(env)
                                    .get();
}

TEST(make_environment_death, an_executor_that_is_missing_is_named) {
    auto env = coflux::make_environment();
    EXPECT_DEATH(([](coflux::environment&) -> coflux::task<int, pool> { co_return 1; }(env).get()),
                 "the environment has no executor for .*thread_pool_executor");
}

}  // namespace
