#include <coflux/channel/detail/peer.hpp>

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

}  // namespace
