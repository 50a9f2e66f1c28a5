#include <coflux/channel/detail/other_side.hpp>

#include <thread>

#include <gtest/gtest.h>

namespace {

using coflux::detail::other_side;

TEST(other_side, that_was_never_seen_or_is_on_this_thread_is_not_waited_for) {
    other_side side;
    int looks = 0;
    const auto look = [&]() noexcept {
        ++looks;
        return true;
    };
    EXPECT_FALSE(side.comes_soon(look));
    side.is_here();
    EXPECT_FALSE(side.comes_soon(look));
    EXPECT_EQ(looks, 0);
}

TEST(other_side, on_another_thread_is_looked_for_a_bounded_number_of_times) {
    other_side side;
    std::thread([&side] { side.is_here(); }).join();
    int looks = 0;
    EXPECT_FALSE(side.comes_soon([&]() noexcept {
        ++looks;
        return false;
    }));
    EXPECT_EQ(looks, 4);
    looks = 0;
    EXPECT_TRUE(side.comes_soon([&]() noexcept { return ++looks == 2; }));
    EXPECT_EQ(looks, 2);
}

}  // namespace
