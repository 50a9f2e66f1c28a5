#include <coflux/core/stop.hpp>

#include <chrono>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/core/detail/scope/deadline_hook.hpp>

#include "stage.hpp"
#include "support/executors.hpp"
#include "support/foreign_event.hpp"

namespace {

using coflux_test::foreign_event;
using coflux_test::manual_executor;
using coflux_test::stage;
using noop = coflux::noop_executor;

TEST(stop_token, of_an_environment_tells_of_its_own_stop) {
    auto env = coflux::make_environment(noop{});
    auto other = coflux::make_environment(noop{});
    const coflux::stop_token token = env.stop_token();
    const coflux::stop_token of_other = other.stop_token();
    EXPECT_FALSE(token.stop_requested());
    env.request_stop();
    EXPECT_TRUE(token.stop_requested());
    EXPECT_TRUE(token.stop_requested());
    EXPECT_FALSE(of_other.stop_requested()) << "a request elsewhere in the process is not its own";
    env.request_stop();
    EXPECT_TRUE(token.stop_requested());
}

coflux::fork<bool, manual_executor> finishes_in_spite_of_a_stop(auto&&, coflux::borrowed<foreign_event> go) {
    const coflux::stop_token token = co_await coflux::this_coroutine::stop_token();
    EXPECT_FALSE(token.stop_requested());
    co_await *go;  // no stop point
    co_return token.stop_requested();
}

TEST(stop_token, lets_a_coroutine_see_its_stop_and_finish) {
    stage<manual_executor> s;
    foreign_event go;
    const auto root = [](coflux::environment&,
                         coflux::borrowed<foreign_event> event) -> coflux::task<bool, manual_executor> {
        auto&& here = co_await coflux::context();
        auto f = finishes_in_spite_of_a_stop(here, event);
        co_await coflux::yield();
        f.request_stop();
        event->set();
        co_return co_await std::move(f);
    };
    EXPECT_TRUE(s.run(root(s.env, coflux::borrowed(go))));
}

coflux::fork<bool, noop> sees(auto&&) {
    const coflux::stop_token token = co_await coflux::this_coroutine::stop_token();
    co_return token.stop_requested();
}

TEST(stop_token, of_a_child_tells_of_a_stop_anywhere_above) {
    stage<noop> s;
    const auto root = [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        EXPECT_FALSE(co_await sees(sub));
        here.request_stop();
        // Both end inside the calls that make them, so their awaits need not suspend and are no stop points.
        EXPECT_TRUE(co_await sees(sub));
        EXPECT_TRUE(co_await sees(here));
        EXPECT_TRUE(sub.stop_requested());
        co_await sub.join();
    };
    auto t = root(s.env);
    EXPECT_NO_THROW(t.get());
}

TEST(stop_token, below_a_derived_environment_tells_of_the_stop_of_that_only_inside_it) {
    stage<noop> s;
    const auto root = [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        sub.request_stop();
        EXPECT_TRUE(co_await sees(sub));
        EXPECT_FALSE(co_await sees(here));
        EXPECT_FALSE(here.stop_requested());
        co_await sub.join();
    };
    s.run(root(s.env));
}

/// A layer of time whose clock the test sets, and that stops nothing.
struct test_clock {
    static inline bool past = false;
    static inline int looks = 0;
    static constexpr coflux::detail::deadline_hook hook{
        [](coflux::environment&, std::int64_t) -> void* { return &past; },
        [](void*) noexcept {},
        [](std::int64_t) noexcept {
            ++looks;
            return past;
        },
    };
    const coflux::detail::deadline_hook* before = coflux::detail::act_on_deadlines.exchange(&hook);

    test_clock() { past = false, looks = 0; }
    ~test_clock() { coflux::detail::act_on_deadlines.store(before); }
};

TEST(stop_token, below_a_deadline_compares_it_with_the_clock_though_nothing_was_requested) {
    const test_clock clock;
    stage<noop> s;
    s.run([](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here, std::chrono::steady_clock::now() + std::chrono::hours(1));
        EXPECT_FALSE(sub.stop_requested());
        EXPECT_FALSE(co_await sees(sub));
        test_clock::past = true;
        EXPECT_TRUE(sub.stop_requested());
        EXPECT_TRUE(co_await sees(sub)) << "whose deadline is that of its environment";
        const int looks = test_clock::looks;
        EXPECT_FALSE(here.stop_requested());
        EXPECT_EQ(test_clock::looks, looks) << "no look at the clock where there is no deadline";
        co_await sub.join();
    }(s.env));
}

}  // namespace
