#include <coflux/channel/detail/peer.hpp>

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

/// How often it is looked for in vain: the longer it is left alone before each look, the fewer are made.
int looks_in_vain(peer& side) {
    int looks = 0;
    EXPECT_FALSE(side.spin_until_some([&]() noexcept {
        ++looks;
        return std::size_t{0};
    }));
    return looks;
}
/// Once, with so many values.
void find(peer& side, std::size_t values) {
    EXPECT_TRUE(side.spin_until_some([&]() noexcept { return values; }));
}

TEST(peer, that_moves_values_fast_is_left_alone_for_longer) {
    peer side;
    std::thread([&side] { side.set_here(); }).join();
    EXPECT_EQ(looks_in_vain(side), 4);
    find(side, 1'000);
    EXPECT_EQ(looks_in_vain(side), 2);
    for (int i = 0; i < 3; ++i) find(side, 1'000);
    EXPECT_EQ(looks_in_vain(side), 1);
    for (int i = 0; i < 3; ++i) find(side, 1'000);
    find(side, 1);  // it has slowed down
    EXPECT_EQ(looks_in_vain(side), 4);
}

TEST(peer, that_moves_nothing_is_given_up_soon_and_left_alone_as_at_first) {
    peer side;
    std::thread([&side] { side.set_here(); }).join();
    for (int i = 0; i < 3; ++i) find(side, 1'000);
    EXPECT_EQ(looks_in_vain(side), 1);
    EXPECT_EQ(looks_in_vain(side), 4);
}

}  // namespace
