#include <coflux/testing/pct_chooser.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace {

using coflux::testing::choice;
using coflux::testing::pct_chooser;

constexpr std::array<std::uint64_t, 4> four{1, 2, 3, 4};

/// How often the chosen one changes in `decisions` with the same candidates.
int changes(pct_chooser& pct, int decisions) {
    int count = 0;
    std::size_t last = pct.choose(choice::next, four);
    for (int i = 1; i < decisions; ++i) {
        const std::size_t chosen = pct.choose(choice::next, four);
        count += chosen != last ? 1 : 0;
        last = chosen;
    }
    return count;
}

TEST(PctChooser, OfDepthOneStaysWithTheHighest) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        pct_chooser pct(seed, 1, 100);
        EXPECT_EQ(changes(pct, 200), 0);
    }
}

TEST(PctChooser, LowersAPriorityDepthLessOneTimes) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        pct_chooser two(seed, 2, 100);
        EXPECT_LE(changes(two, 200), 1);
        pct_chooser four_deep(seed, 4, 100);
        EXPECT_LE(changes(four_deep, 200), 3);
    }
    pct_chooser pct(1, 3, 100);
    EXPECT_EQ(changes(pct, 200), 2);
}

TEST(PctChooser, OneThatWasLoweredRunsWhenNoOtherCan) {
    pct_chooser pct(5, 2, 1);  // the first decision lowers
    const std::size_t chosen = pct.choose(choice::next, four);
    std::array<std::uint64_t, 2> others{};
    std::size_t n = 0;
    std::size_t lowered = four.size();
    // With all four, the lowered one never runs again; find it by pairs.
    for (const std::uint64_t a : four) {
        bool ever = false;
        for (const std::uint64_t b : four) {
            if (a == b) continue;
            const std::array<std::uint64_t, 2> pair{a, b};
            ever = ever || pct.choose(choice::next, pair) == 0;
        }
        if (!ever) lowered = static_cast<std::size_t>(a);
        n += ever ? 0 : 1;
    }
    EXPECT_EQ(n, 1U);
    EXPECT_NE(lowered, four[chosen]);
    others = {lowered, lowered};
    EXPECT_LT(pct.choose(choice::next, others), 2U);
}

TEST(PctChooser, EachOrderOfFirstRunsIsReached) {
    std::set<std::size_t> first;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        pct_chooser pct(seed, 1, 10);
        first.insert(pct.choose(choice::next, four));
    }
    EXPECT_EQ(first.size(), four.size());
}

TEST(PctChooser, RestartedItIsAsIfMadeAnew) {
    pct_chooser used(1, 3, 50);
    (void)changes(used, 80);
    used.restart(9, 3, 50);
    pct_chooser fresh(9, 3, 50);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(used.choose(choice::next, four), fresh.choose(choice::next, four));
}

/// The guarantee of the paper: a fault of depth 2 among n coroutines in k decisions, with a probability of 1 / (n * k).
TEST(PctChooser, FindsAFaultOfDepthTwoAsOftenAsItSays) {
    constexpr int k = 20;
    constexpr int seeds = 4000;
    int found = 0;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        pct_chooser pct(seed, 2, k);
        // Coroutine 2 must run between the 7th and the 8th step of coroutine 1; both would go on for ever.
        constexpr std::array<std::uint64_t, 2> two{1, 2};
        int steps_of_one = 0;
        for (int i = 0; i < k; ++i) {
            if (pct.choose(choice::next, two) == 0) {
                ++steps_of_one;
            } else {
                found += steps_of_one == 7 ? 1 : 0;
                break;
            }
        }
    }
    EXPECT_GE(found, seeds / (2 * k) * 8 / 10);
}

}  // namespace
