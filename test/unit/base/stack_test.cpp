#include <coflux/base/stack.hpp>

#include <cstdint>

#include <gtest/gtest.h>

#include <coflux/base/thread.hpp>

namespace {

using coflux::detail::bounds_of_this_stack;
using coflux::detail::stack_address;
using coflux::detail::stack_bounds;
using coflux::detail::stack_is_below;

[[gnu::noinline]] std::uintptr_t deeper() {
    volatile char room[256] = {};
    room[0] = 1;
    return stack_address() - static_cast<std::uintptr_t>(room[1]);
}

TEST(stack, a_call_stands_lower) {
    const std::uintptr_t here = stack_address();
    EXPECT_LT(deeper(), here);
    EXPECT_LT(here - deeper(), std::uintptr_t{1} << 16);
}

TEST(stack, is_below_a_limit_that_is_above_it_and_no_other) {
    const std::uintptr_t here = stack_address();
    const std::uintptr_t above = here + (1U << 16);
    const std::uintptr_t below = here - (1U << 16);
    EXPECT_TRUE(stack_is_below(above));
    EXPECT_FALSE(stack_is_below(below));
}

TEST(stack, of_a_thread_has_its_variables_and_no_others) {
    static int elsewhere = 0;
    for (const bool on_another_thread : {false, true}) {
        const auto look = [] {
            const stack_bounds bounds = bounds_of_this_stack();
            EXPECT_TRUE(bounds.has(stack_address()));
            EXPECT_TRUE(bounds.has(deeper()));
            EXPECT_FALSE(bounds.has(reinterpret_cast<std::uintptr_t>(&elsewhere)));
            EXPECT_GT(stack_address(), bounds.room());
        };
        on_another_thread ? coflux::detail::thread(look).join() : look();
    }
}

TEST(stack, has_room_down_to_the_last_256_KiB_or_the_half_of_a_small_one) {
    constexpr std::uintptr_t low = 1U << 30;
    EXPECT_EQ((stack_bounds{low, low + 8 * 1024 * 1024}.room()), low + 256 * 1024);
    EXPECT_EQ((stack_bounds{low, low + 128 * 1024}.room()), low + 64 * 1024);
    EXPECT_EQ((stack_bounds{}.room()), 0U);
    EXPECT_FALSE((stack_bounds{}.has(stack_address())));
}

}  // namespace
