// as_result of what is no operation of I/O. That of those is in the tests of each.
#include <coflux/io/result.hpp>

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "../core/stage.hpp"
#include "support/executors.hpp"

namespace {

using namespace std::chrono_literals;
using coflux_test::stage;
using hand = coflux_test::manual_executor;
using root = coflux::task<void, hand>;

enum class end : unsigned char { value, system, other, stop };

void ends_so(end e) {
    if (e == end::system) throw std::system_error(std::make_error_code(std::errc::broken_pipe), "planned");
    if (e == end::other) throw std::runtime_error("planned");
}
coflux::call<int> called(coflux::environment&, end e) {
    co_await coflux::yield();
    ends_so(e);
    if (e == end::stop) co_await coflux::this_coroutine::stop();
    co_return 4;
}
coflux::call<void> called_at_once(coflux::environment&, end e) {
    ends_so(e);
    co_return;
}
coflux::fork<std::unique_ptr<int>, hand> forked(coflux::environment&, end e) {
    ends_so(e);
    co_return std::make_unique<int>(5);
}
coflux::task<int, hand> rooted(coflux::environment&, end e) {
    ends_so(e);
    co_return 6;
}

TEST(as_result, of_a_call_has_its_value_or_its_system_error) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        EXPECT_EQ((co_await coflux::as_result(called(here, end::value))).value(), 4);
        EXPECT_EQ((co_await coflux::as_result(called(here, end::system))).error(), std::errc::broken_pipe);
        EXPECT_TRUE(co_await coflux::as_result(called_at_once(here, end::value)));
        EXPECT_EQ((co_await coflux::as_result(called_at_once(here, end::system))).error(), std::errc::broken_pipe);
    }(s.env));
}

TEST(as_result, of_a_fork_and_a_task_has_theirs) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        EXPECT_EQ(**co_await coflux::as_result(forked(here, end::value)), 5);
        EXPECT_EQ((co_await coflux::as_result(forked(here, end::system))).error(), std::errc::broken_pipe);
        EXPECT_EQ(*co_await coflux::as_result(rooted(here, end::value)), 6);
        EXPECT_EQ((co_await coflux::as_result(rooted(here, end::system))).error(), std::errc::broken_pipe);
    }(s.env));
}

struct failing_operation {
    [[nodiscard]] bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    int await_resume() const { throw std::system_error(std::make_error_code(std::errc::timed_out)); }
};

TEST(as_result, of_what_another_library_made_has_its_system_error) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        EXPECT_EQ((co_await coflux::as_result(failing_operation())).error(), std::errc::timed_out);
    }(s.env));
}

TEST(as_result, passes_other_errors_on) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        EXPECT_THROW((void)co_await coflux::as_result(called(here, end::other)), std::runtime_error);
        EXPECT_THROW((void)co_await coflux::as_result(forked(here, end::other)), std::runtime_error);
    }(s.env));
}

coflux::call<void> fails_with_a_child(coflux::environment&) {
    auto&& here = co_await coflux::context();
    forked(here, end::other).attach();
    ends_so(end::system);
    co_return;
}

TEST(as_result, loses_no_error_that_came_with_a_system_error) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        std::size_t others = 0;
        try {
            (void)co_await coflux::as_result(fails_with_a_child(here));
        } catch (const std::system_error&) {
            others = coflux::other_errors().size();
        }
        EXPECT_EQ(others, 1U);
    }(s.env));
}

coflux::call<int> waits_for_ever(coflux::environment&) {
    coflux::manual_reset_event never;
    co_await never.wait();
    co_return 1;
}
coflux::call<void> is_stopped(coflux::environment&) {
    auto&& here = co_await coflux::context();
    (void)co_await coflux::as_result(called(here, end::stop));
    ADD_FAILURE();
}

TEST(as_result, goes_on_with_a_stop_as_the_plain_await_does) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        EXPECT_TRUE((co_await coflux::as_outcome(is_stopped(here))).is_stopped());
    }(s.env));
}

TEST(as_result, under_as_outcome_has_the_stop_and_other_errors_as_values) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        const coflux::outcome<coflux::io_result<int>> value =
            co_await coflux::as_outcome(coflux::as_result(called(here, end::value)));
        EXPECT_EQ(**value, 4);
        const auto system = co_await coflux::as_outcome(coflux::as_result(called(here, end::system)));
        EXPECT_EQ((*system).error(), std::errc::broken_pipe);
        EXPECT_TRUE((co_await coflux::as_outcome(coflux::as_result(called(here, end::other)))).has_error());
        EXPECT_TRUE((co_await coflux::as_outcome(coflux::as_result(called(here, end::stop)))).is_stopped());
        // At once, without a value, of a handle, and of a foreign awaitable.
        const coflux::outcome<coflux::io_result<void>> nothing =
            co_await coflux::as_outcome(coflux::as_result(called_at_once(here, end::value)));
        EXPECT_TRUE((*nothing).has_value());
        EXPECT_EQ((*co_await coflux::as_outcome(coflux::as_result(called_at_once(here, end::system)))).error(),
                  std::errc::broken_pipe);
        EXPECT_EQ(**(co_await coflux::as_outcome(coflux::as_result(forked(here, end::value)))).value(), 5);
        EXPECT_EQ((co_await coflux::as_outcome(coflux::as_result(rooted(here, end::system)))).value().error(),
                  std::errc::broken_pipe);
        EXPECT_EQ((*co_await coflux::as_outcome(coflux::as_result(failing_operation()))).error(), std::errc::timed_out);
    }(s.env));
}

TEST(as_result, under_as_outcome_loses_no_error_that_came_with_a_system_error) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        const auto ended = co_await coflux::as_outcome(coflux::as_result(fails_with_a_child(here)));
        EXPECT_TRUE(ended.has_error());
        EXPECT_EQ(ended.other_errors().size(), 1U);
    }(s.env));
}

coflux::task<void, hand> waits_for_a_result(coflux::environment&, coflux::borrowed<bool> went_on) {
    auto&& here = co_await coflux::context();
    const auto ended = co_await coflux::as_outcome(coflux::as_result(waits_for_ever(here)));
    EXPECT_TRUE(ended.is_stopped());
    *went_on = true;
}

TEST(as_result, under_as_outcome_lets_the_coroutine_go_on_whose_stop_comes_while_it_waits) {
    bool went_on = false;
    hand by_hand;
    auto env = coflux::make_environment(by_hand);
    auto t = waits_for_a_result(env, coflux::borrowed(went_on));
    by_hand.run_all();
    t.request_stop();
    by_hand.run_all();
    t.join();
    EXPECT_TRUE(went_on);
}

TEST(as_result, is_given_to_combinators_and_limits) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        const auto [good, bad] = co_await coflux::when_all(coflux::as_result(called(here, end::value)),
                                                           coflux::as_result(called(here, end::system)));
        EXPECT_EQ(*good, 4);
        EXPECT_EQ(bad.error(), std::errc::broken_pipe);
        const auto in_time = co_await coflux::timeout(coflux::as_result(called(here, end::system)), 1h);
        EXPECT_EQ(in_time.error(), std::errc::broken_pipe);
        auto first = co_await coflux::select(coflux::as_result(called(here, end::system)));
        EXPECT_EQ(get<0>(first).error(), std::errc::broken_pipe);
    }(s.env));
}

}  // namespace
