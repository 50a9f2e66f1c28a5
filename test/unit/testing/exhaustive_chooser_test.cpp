#include <coflux/testing/exhaustive_chooser.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace {

using coflux::testing::choice;
using coflux::testing::exhaustive_chooser;

constexpr std::array<std::uint64_t, 3> three{1, 2, 3};

/// Three decisions among three, three and, if the first was not 0, two.
std::vector<std::size_t> run(exhaustive_chooser& all) {
    std::vector<std::size_t> made;
    made.push_back(all.choose(choice::next, three));
    made.push_back(all.choose(choice::next, three));
    if (made[0] != 0) made.push_back(all.choose(choice::steal, std::span(three).first(2)));
    return made;
}

TEST(ExhaustiveChooser, MakesEachScheduleOnceAndFifoFirst) {
    exhaustive_chooser all(1000);
    std::set<std::vector<std::size_t>> seen;
    std::size_t runs = 0;
    while (all.next_run()) {
        const auto made = run(all);
        if (runs++ == 0) {
            EXPECT_EQ(made, (std::vector<std::size_t>{0, 0}));
        }
        EXPECT_TRUE(seen.insert(made).second);
    }
    EXPECT_EQ(runs, 3U + 2 * 3 * 2);
    EXPECT_EQ(all.runs(), runs);
    EXPECT_TRUE(all.exhausted());
    EXPECT_FALSE(all.next_run());
}

TEST(ExhaustiveChooser, StopsAtItsBudgetAndSaysThatThereIsMore) {
    exhaustive_chooser some(4);
    std::size_t runs = 0;
    while (some.next_run()) {
        (void)run(some);
        ++runs;
    }
    EXPECT_EQ(runs, 4U);
    EXPECT_FALSE(some.exhausted());
    EXPECT_FALSE(some.next_run());
    EXPECT_EQ(some.runs(), 4U);
}

TEST(ExhaustiveChooser, SaysSoWhenTheBudgetIsJustEnough) {
    exhaustive_chooser all(15);
    while (all.next_run()) (void)run(all);
    EXPECT_EQ(all.runs(), 15U);
    EXPECT_TRUE(all.exhausted());
}

TEST(ExhaustiveChooser, KeepsToItsBoundOfDeviations) {
    exhaustive_chooser bounded(1000, 1);
    std::set<std::vector<std::size_t>> seen;
    while (bounded.next_run()) seen.insert(run(bounded));
    const std::set<std::vector<std::size_t>> expected{{0, 0}, {0, 1}, {0, 2}, {1, 0, 0}, {2, 0, 0}};
    EXPECT_EQ(seen, expected);
    EXPECT_TRUE(bounded.exhausted());
}

TEST(ExhaustiveChooser, OfAProgramWithoutDecisionsMakesOneRun) {
    exhaustive_chooser all(1000);
    EXPECT_TRUE(all.next_run());
    EXPECT_FALSE(all.next_run());
    EXPECT_TRUE(all.exhausted());
}

TEST(ExhaustiveChooserDeathTest, AProgramThatDoesSomethingElseIsAnError) {
    exhaustive_chooser all(1000);
    (void)all.next_run();
    (void)run(all);
    (void)all.next_run();
    EXPECT_DEATH((void)all.choose(choice::next, std::span(three).first(2)), "does not do the same in each run");
}

}  // namespace
