#include <coflux/core/make_environment.hpp>

#include <chrono>
#include <coroutine>
#include <exception>
#include <memory_resource>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/iterations.hpp"

namespace {

using coflux_test::manual_executor;
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
    const bool right = [](coflux::environment&, pool* expected) -> coflux::task<bool, coflux::nth<pool, 1>> {
        co_return (co_await coflux::this_coroutine::executor()).is(*expected);
    }(env, &second)
                                                                       .get();
    EXPECT_TRUE(right);
}

/// Queues in a function that changes nothing of it.
struct refers_to_pool {
    pool* runs_on;
    void execute(std::coroutine_handle<> h) const noexcept { runs_on->execute(h); }
};

template <typename E>
coflux::task<bool, E> is_run_by(coflux::environment&, const E* expected) {
    const coflux::executor_ref own = co_await coflux::this_coroutine::executor();
    co_return own.is(*expected);
}

TEST(make_environment, takes_a_constant_executor_as_one_of_its_type) {
    const pool constant(1);
    auto by_reference = coflux::make_environment(constant);
    EXPECT_TRUE(is_run_by(by_reference, &constant).get());
    const auto low = constant.at<coflux::priority::low>();
    auto below = coflux::make_environment(constant, low);
    EXPECT_TRUE(is_run_by(below, &low).get());
    pool runs(1);
    const refers_to_pool refers{&runs};
    auto refers_env = coflux::make_environment(refers);
    EXPECT_TRUE(is_run_by(refers_env, &refers).get());
    const noop calls{};
    auto inline_env = coflux::make_environment(calls);
    EXPECT_EQ(memory_of(inline_env).get(), &coflux::frame_pool::shared());
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

coflux::task<int, pool> gives_four(coflux::environment&) {
    co_return 4;
}

TEST(make_environment, has_a_type_for_members_and_optionals) {
    struct server {
        pool workers{1};
        coflux::environment_of<pool&> env{workers};
    } in_a_class;
    EXPECT_EQ(gives_four(in_a_class.env).get(), 4);
    static_assert(
        std::is_same_v<coflux::environment_of<pool&>, decltype(coflux::make_environment(in_a_class.workers))>);
    std::optional<coflux::environment_of<pool, std::pmr::memory_resource*>> owns;
    coflux::counting_resource counting;
    owns.emplace(pool{1}, &counting);
    EXPECT_EQ(gives_four(*owns).get(), 4);
    EXPECT_GT(counting.allocations(), 0U);
    owns.reset();
    std::optional<coflux::environment_of<std::chrono::steady_clock::time_point>> below;
    below.emplace(in_a_class.env, coflux::clock::now() + std::chrono::hours(1));
    EXPECT_EQ(gives_four(*below).get(), 4);
}

coflux::task<int, pool> sleeps(coflux::environment&, std::chrono::milliseconds time, bool* ended) {
    co_await coflux::sleep_for(time);
    *ended = true;
    co_return 3;
}

TEST(make_environment, gives_a_root_a_deadline) {
    pool workers{1};
    auto env = coflux::make_environment(workers, coflux::clock::now() + std::chrono::milliseconds(5));
    EXPECT_TRUE(env.deadline().has_value());
    bool ended = false;
    EXPECT_THROW(sleeps(env, std::chrono::hours(1), &ended).get(), coflux::task_stopped);
    auto late = sleeps(env, std::chrono::hours(1), &ended);
    late.join();
    EXPECT_FALSE(ended);
}

TEST(make_environment, of_a_root_environment_waits_for_a_task_whose_handle_dies) {
    pool workers{1};
    auto env = coflux::make_environment(workers);
    auto sub = coflux::make_environment(env, coflux::clock::now() + std::chrono::hours(1));
    auto below = coflux::make_environment(sub);
    bool ended[2] = {};
    { const auto dropped = sleeps(sub, std::chrono::milliseconds(2), &ended[0]); }
    { const auto dropped = sleeps(below, std::chrono::milliseconds(2), &ended[1]); }
    EXPECT_TRUE(ended[0] && ended[1]);
    static int reports = 0;
    reports = 0;
    sub.on_unobserved_error([](const std::exception_ptr&) noexcept { ++reports; });
    {
        const auto fails = [](coflux::environment&) -> coflux::task<void, pool> {
            co_await coflux::yield();
            throw std::runtime_error("at the root");
        }(sub);
    }
    EXPECT_EQ(reports, 1);
}

coflux::fork<int, manual_executor> goes_down(coflux::environment&, int levels) {
    auto&& here = co_await coflux::context();
    if (levels == 0) co_return 0;
    auto sub = coflux::make_environment(here);
    const int below = co_await goes_down(sub, levels - 1);
    co_await sub.join();
    co_return below + 1;
}

TEST(make_environment, derived_from_derived_ones_finds_an_executor_in_the_same_time_at_any_depth) {
    constexpr int depth =
        static_cast<int>(coflux_test::repetitions(200'000)) + 10'000;  // the square of it took minutes
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto t = [](coflux::environment&) -> coflux::task<int, manual_executor> {
        auto&& here = co_await coflux::context();
        co_return co_await goes_down(here, depth);
    }(env);
    by_hand.run_all();
    EXPECT_EQ(t.get(), depth);
}

void asks_for_the_second_of_its_kind() {
    coflux_test::manual_executor one;
    auto outer = coflux::make_environment(one, noop{});
    auto root = [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here, noop{});
        auto f = [](coflux::environment&) -> coflux::fork<int, coflux::nth<coflux_test::manual_executor, 1>> {
            co_return 1;
        }(sub);
        (void)co_await std::move(f);
        co_await sub.join();
    }(outer);
    root.get();
}

TEST(make_environment_death, those_that_are_there_are_named_beside_one_that_is_missing) {
    EXPECT_DEATH(
        asks_for_the_second_of_its_kind(),
        "no executor for coflux::testing::manual_executor, index 1 counted from 0; it has: coflux::noop_executor, "
        "coflux::testing::manual_executor, coflux::noop_executor");
}

TEST(make_environment_death, an_executor_that_is_missing_is_named) {
    auto env = coflux::make_environment();
    EXPECT_DEATH(([](coflux::environment&) -> coflux::task<int, pool> { co_return 1; }(env).get()),
                 "the environment has no executor for coflux::thread_pool_executor; it has: none. Give it one: "
                 "coflux::thread_pool_executor x; make_environment\\(x\\)");
}

}  // namespace
