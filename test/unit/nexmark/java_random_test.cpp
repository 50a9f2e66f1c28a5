// The expected values are those of a program of Java 17 that makes the same draws.
#include <nexmark/java_random.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using lab::nexmark::java_random;

struct draws {
    std::int64_t seed;
    std::int32_t any;
    std::int32_t below_4;
    std::int32_t below_13;
    double fraction;
    // Below 2^30 + 1. Half of all draws lie beyond its last multiple and are made again.
    std::int32_t below_a_bound[3];
};

TEST(java_random, draws_what_java_draws) {
    constexpr draws of_java[]{
        {0, -1'155'484'576, 3, 10, 0x1.3672e15196e4fp-1, {663'681'053, 251'269'761, 715'581'077}},
        {1, -1'155'869'325, 0, 7, 0x1.a137e6352cccep-2, {77'814'904, 714'504'434, 13'136'569}},
        {50, -1'160'871'061, 2, 6, 0x1.a4b1d8cf8ffa2p-1, {1'051'489'561, 1'040'258'100, 568'284'155}},
        {1'000'000'007, 808'566'000, 1, 12, 0x1.b0339bb500d84p-3, {505'582'088, 158'895'251, 960'489'043}},
        {-1, 1'155'099'827, 1, 9, 0x1.1897ff54bf2f3p-1, {894'294'477, 857'465'478, 121'412'731}},
    };
    for (const draws& expected : of_java) {
        java_random random{expected.seed};
        EXPECT_EQ(random.next_int(), expected.any) << expected.seed;
        EXPECT_EQ(random.next_int(4), expected.below_4) << expected.seed;
        EXPECT_EQ(random.next_int(13), expected.below_13) << expected.seed;
        EXPECT_EQ(random.next_double(), expected.fraction) << expected.seed;
        for (const std::int32_t next : expected.below_a_bound) {
            EXPECT_EQ(random.next_int((1 << 30) + 1), next) << expected.seed;
        }
    }
}

TEST(java_random, goes_on_where_another_one_stood) {
    java_random first{42};
    (void)first.next_double();
    java_random second = java_random::at(first.state());
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(second.next_int(), first.next_int());
    }
}

}  // namespace
