#include <coflux/core/environment.hpp>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

namespace {

using noop = coflux::noop_executor;

TEST(environment, knows_a_stop_that_was_requested_above_it) {
    auto env = coflux::make_environment();
    [](coflux::environment& root) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        EXPECT_FALSE(sub.stop_requested());
        root.request_stop();
        EXPECT_TRUE(sub.stop_requested());
        EXPECT_TRUE(here.stop_token().stop_requested());
    }(env)
                                         .join();
}

TEST(environment, does_not_take_a_stop_beside_it_for_its_own) {
    auto one = coflux::make_environment();
    auto other = coflux::make_environment();
    other.request_stop();
    EXPECT_FALSE(one.stop_requested());
    EXPECT_TRUE(other.stop_requested());
}

/// Never resumed.
struct never {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    void await_resume() const noexcept {}
};

void ends_before_its_child() {
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        [](coflux::environment&) -> coflux::fork<void> { co_await never{}; }(sub).attach();
    }(env)
                                    .join();
}

TEST(environment_death, that_ends_before_its_children_names_them) {
    EXPECT_DEATH(ends_before_its_child(), "still alive");
}

}  // namespace
