#include <coflux/base/stack.hpp>

#include <cstdint>

#include <gtest/gtest.h>

namespace {

using coflux::detail::stack_address;

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

}  // namespace
