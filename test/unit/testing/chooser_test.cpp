#include <coflux/testing/chooser.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace {

using coflux::testing::choice;
using coflux::testing::fifo_chooser;
using coflux::testing::random_chooser;
using coflux::testing::random_numbers;

constexpr std::array<std::uint64_t, 5> five{1, 2, 3, 4, 5};

TEST(Chooser, FifoTakesTheFirst) {
    fifo_chooser fifo;
    EXPECT_EQ(fifo.choose(choice::next, five), 0U);
    EXPECT_EQ(fifo.choose(choice::steal, five), 0U);
}

TEST(Chooser, RandomIsEvenAndStaysInside) {
    random_chooser random(3);
    std::array<int, 5> seen{};
    for (int i = 0; i < 10'000; ++i) {
        const std::size_t chosen = random.choose(choice::next, five);
        ASSERT_LT(chosen, five.size());
        ++seen[chosen];
    }
    for (const int n : seen) {
        EXPECT_GT(n, 1800);
        EXPECT_LT(n, 2200);
    }
}

TEST(Chooser, TheSameSeedMakesTheSameChoices) {
    random_chooser one(11);
    random_chooser other(11);
    random_chooser third(12);
    bool differs = false;
    for (int i = 0; i < 100; ++i) {
        const std::size_t chosen = one.choose(choice::next, five);
        EXPECT_EQ(other.choose(choice::next, five), chosen);
        differs = differs || third.choose(choice::next, five) != chosen;
    }
    EXPECT_TRUE(differs);
}

/// The numbers of the authors' own program for the seed 1234567: so the choices are the same on every machine.
TEST(Chooser, TheNumbersAreThoseOfSplitMix64) {
    random_numbers numbers(1234567);
    for (const std::uint64_t expected : {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                         4593380528125082431U, 16408922859458223821U})
        EXPECT_EQ(numbers.next(), expected);
}

}  // namespace
