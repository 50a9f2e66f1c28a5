#include <coflux/stream/detail/slot_owners.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using coflux::stream::detail::balanced;
using coflux::stream::detail::slot_loads;
using coflux::stream::detail::slot_owners;

std::uint64_t most_of(const slot_owners& owners, const slot_loads& loads, std::size_t workers) {
    std::vector<std::uint64_t> of(workers);
    for (std::size_t s = 0; s != owners.size(); ++s) of[owners[s]] += loads[s];
    return *std::ranges::max_element(of);
}

TEST(slot_owners, stay_where_the_loads_are_alike) {
    EXPECT_FALSE(balanced({0, 1, 0, 1}, {1000, 1100, 1000, 1200}, 2));
}

TEST(slot_owners, change_where_a_worker_has_much_more) {
    const slot_owners now{0, 1, 0, 1};
    const slot_loads loads{5000, 10, 5000, 10};
    const auto better = balanced(now, loads, 2);
    ASSERT_TRUE(better);
    EXPECT_EQ(most_of(*better, loads, 2), 5020U);
}

TEST(slot_owners, stay_where_one_slot_alone_is_too_much) {
    EXPECT_FALSE(balanced({0, 1, 0, 1}, {100'000, 10, 0, 10}, 2));
}

TEST(slot_owners, stay_where_there_is_too_little_to_say_or_one_worker) {
    EXPECT_FALSE(balanced({0, 1, 0, 1}, {100, 0, 100, 0}, 2));
    EXPECT_FALSE(balanced({0, 0}, {100'000, 0}, 1));
}

TEST(slot_owners, never_make_the_worst_worse) {
    for (std::uint64_t seed = 1; seed != 500; ++seed) {
        std::uint64_t x = seed;
        const auto next = [&] { return x = x * 6364136223846793005U + 1442695040888963407U, x >> 40; };
        const std::size_t workers = 2 + next() % 6;
        slot_owners now(16);
        slot_loads loads(16);
        for (std::size_t s = 0; s != 16; ++s) {
            now[s] = static_cast<std::uint32_t>(next() % workers);
            loads[s] = next() % 10'000;
        }
        if (const auto better = balanced(now, loads, workers)) {
            EXPECT_LT(most_of(*better, loads, workers), most_of(now, loads, workers)) << seed;
        }
    }
}

}  // namespace
