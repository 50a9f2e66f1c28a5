#include <coflux/channel/detail/peer.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>

#include <gtest/gtest.h>

namespace {

using coflux::detail::peer;

TEST(peer, that_was_never_seen_or_is_on_this_thread_is_not_waited_for) {
    peer side;
    int looks = 0;
    const auto look = [&]() noexcept {
        ++looks;
        return true;
    };
    EXPECT_FALSE(side.spin_until(look));
    side.set_here();
    EXPECT_FALSE(side.spin_until(look));
    EXPECT_EQ(looks, 0);
}

TEST(peer, on_another_thread_is_looked_for_a_bounded_number_of_times) {
    peer side;
    std::thread([&side] { side.set_here(); }).join();
    int looks = 0;
    EXPECT_FALSE(side.spin_until([&]() noexcept {
        ++looks;
        return false;
    }));
    EXPECT_EQ(looks, 4);
    looks = 0;
    EXPECT_TRUE(side.spin_until([&]() noexcept { return ++looks == 2; }));
    EXPECT_EQ(looks, 2);
}

/// The shortest of some, so that a lost processor does not count.
std::chrono::nanoseconds time_of_a_look(peer& side, std::size_t found) {
    auto least = std::chrono::nanoseconds::max();
    for (int i = 0; i < 50; ++i) {
        const auto began = std::chrono::steady_clock::now();
        EXPECT_TRUE(side.spin_until_some([&]() noexcept { return found; }));
        if (i >= 5) least = std::min(least, std::chrono::nanoseconds(std::chrono::steady_clock::now() - began));
    }
    return least;
}

TEST(peer, that_moves_values_fast_is_left_alone_for_longer) {
    peer side;
    std::thread([&side] { side.set_here(); }).join();
    const auto slow = time_of_a_look(side, 1);
    EXPECT_GT(time_of_a_look(side, 1'000), 3 * slow);
    EXPECT_LT(time_of_a_look(side, 1), 2 * slow) << "it has slowed down";
}

TEST(peer, that_moves_nothing_is_given_up_soon_and_left_alone_as_at_first) {
    peer side;
    std::thread([&side] { side.set_here(); }).join();
    const auto slow = time_of_a_look(side, 1);
    (void)time_of_a_look(side, 1'000);
    int looks = 0;
    const auto finds_nothing = [&]() noexcept {
        ++looks;
        return std::size_t{0};
    };
    EXPECT_FALSE(side.spin_until_some(finds_nothing));
    EXPECT_EQ(looks, 1);
    EXPECT_FALSE(side.spin_until_some(finds_nothing));
    EXPECT_EQ(looks, 1 + 4);
    EXPECT_LT(time_of_a_look(side, 1), 2 * slow);
}

}  // namespace
