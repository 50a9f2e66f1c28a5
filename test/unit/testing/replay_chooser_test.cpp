#include <coflux/testing/replay_chooser.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace {

using coflux::testing::choice;
using coflux::testing::decision;
using coflux::testing::replay_chooser;
using coflux::testing::to_text;

constexpr std::array<std::uint64_t, 4> four{1, 2, 3, 4};

TEST(ReplayChooser, DecidesAsItWasDecidedAndThenFifo) {
    const std::vector<decision> schedule{{choice::next, 2, 4}, {choice::steal, 1, 2}, {choice::next, 0, 3}};
    replay_chooser replay(schedule);
    EXPECT_EQ(replay.choose(choice::next, four), 2U);
    EXPECT_EQ(replay.choose(choice::steal, std::span(four).first(2)), 1U);
    EXPECT_EQ(replay.choose(choice::next, std::span(four).first(3)), 0U);
    EXPECT_EQ(replay.choose(choice::next, four), 0U);
    EXPECT_EQ(replay.diverged_at(), replay_chooser::nowhere);
}

TEST(ReplayChooser, SaysWhereTheRunIsAnother) {
    const std::vector<decision> schedule{{choice::next, 0, 4}, {choice::next, 3, 4}, {choice::next, 1, 2}};
    replay_chooser replay(schedule);
    (void)replay.choose(choice::next, four);
    EXPECT_EQ(replay.choose(choice::next, std::span(four).first(3)), 0U);
    EXPECT_EQ(replay.choose(choice::steal, std::span(four).first(2)), 0U);
    EXPECT_EQ(replay.diverged_at(), 1U);
}

TEST(ReplayChooser, TheTextOfAScheduleHoldsWhatIsNotFifo) {
    const std::vector<decision> schedule{
        {choice::next, 2, 4}, {choice::next, 0, 4}, {choice::steal, 1, 2}, {choice::time, 1, 2}};
    EXPECT_EQ(to_text(schedule), "0n2/4,2s1/2,3t1/2");
    EXPECT_EQ(to_text({}), "fifo");
}

TEST(ReplayChooser, AScheduleComesBackFromItsText) {
    std::optional<replay_chooser> replay = replay_chooser::parse("0n2/4,2s1/2");
    ASSERT_TRUE(replay);
    EXPECT_EQ(replay->choose(choice::next, four), 2U);
    EXPECT_EQ(replay->choose(choice::next, four), 0U);
    EXPECT_EQ(replay->choose(choice::steal, std::span(four).first(2)), 1U);
    EXPECT_EQ(replay->choose(choice::next, four), 0U);
    EXPECT_EQ(replay->diverged_at(), replay_chooser::nowhere);
    EXPECT_TRUE(replay_chooser::parse("fifo"));
}

TEST(ReplayChooser, WhatIsNoScheduleIsNotTaken) {
    for (const std::string_view text :
         {"", "n", "0n2", "0n4/4", "0x1/2", "0n1/2,", "3n1/2,3n1/2", "4n1/2,2n1/2", "0n1/2 ", "-1n1/2", "fifo,"})
        EXPECT_FALSE(replay_chooser::parse(text)) << text;
}

}  // namespace
