#include "../../../src/io/detail/slot_table.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/iterations.hpp"

namespace {

struct slot {
    std::atomic<int> value{0};
};
using table = coflux::detail::slot_table<slot>;

TEST(slot_table, gives_new_numbers_in_order_and_then_the_one_that_came_back_last) {
    table t;
    EXPECT_EQ(t.take(), 0U);
    EXPECT_EQ(t.take(), 1U);
    EXPECT_EQ(t.take(), 2U);
    t.give_back(0);
    t.give_back(2);
    EXPECT_EQ(t.take(), 2U);
    EXPECT_EQ(t.take(), 0U);
    EXPECT_EQ(t.take(), 3U);
}

TEST(slot_table, leaves_each_slot_where_it_is_and_with_what_is_in_it) {
    table t;
    const std::uint32_t first = t.take();
    slot* const there = &t[first];
    there->value = 7;
    t.give_back(first);
    std::vector<std::uint32_t> taken;
    for (int i = 0; i != 2'000; ++i) taken.push_back(t.take());  // several chunks
    EXPECT_EQ(taken.front(), first);
    EXPECT_EQ(&t[first], there);
    EXPECT_EQ(t[first].value, 7);
    std::set<slot*> places;
    for (const std::uint32_t number : taken) places.insert(&t[number]);
    EXPECT_EQ(places.size(), taken.size());
    for (const std::uint32_t number : taken) t.give_back(number);
}

TEST(slot_table, goes_through_all_that_were_taken_once) {
    table t;
    std::size_t n = 0;
    const auto count = [&n](const slot&) { ++n; };
    t.for_each(count);
    EXPECT_EQ(n, 0U);
    for (int i = 0; i != 300; ++i) (void)t.take();
    t.give_back(5);
    t.for_each(count);
    EXPECT_EQ(n, 300U);
}

TEST(slot_table, gives_no_number_to_two_threads) {
    table t;
    std::atomic<int> twice{0};
    std::vector<std::thread> threads;
    for (int k = 0; k != 3; ++k) {
        threads.emplace_back([&] {
            for (std::size_t i = 0; i != coflux_test::repetitions(20'000); ++i) {
                const std::uint32_t a = t.take();
                const std::uint32_t b = t.take();
                for (const std::uint32_t number : {a, b}) {
                    if (t[number].value.fetch_add(1) != 0) ++twice;
                }
                for (const std::uint32_t number : {a, b}) {
                    t[number].value.fetch_sub(1);
                    t.give_back(number);
                }
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(twice, 0);
    std::size_t n = 0;
    t.for_each([&n](const slot&) { ++n; });
    EXPECT_LE(n, 6U);
}

}  // namespace
