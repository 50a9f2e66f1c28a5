#include <coflux/base/no_coroutine.hpp>

#include <gtest/gtest.h>

namespace {

using coflux::detail::no_coroutine;

TEST(no_coroutine, is_the_same_handle_at_each_call_and_no_other) {
    EXPECT_EQ(no_coroutine(), no_coroutine());
    EXPECT_NE(no_coroutine(), std::coroutine_handle<>());
    EXPECT_NE(no_coroutine(), std::noop_coroutine());
}

TEST(no_coroutine, does_nothing_where_it_is_resumed_or_destroyed) {
    no_coroutine().resume();
    no_coroutine().destroy();
    EXPECT_FALSE(no_coroutine().done());
}

}  // namespace
