// How many values the receiver of an mpsc channel takes to be there, before it leaves its senders alone.
#include <coflux/channel/detail/slot_queue.hpp>

#include <cstddef>
#include <memory_resource>

#include <gtest/gtest.h>

namespace {

using queue = coflux::detail::slot_queue<int>;
constexpr std::size_t block = queue::slots_in_block;

struct filled {
    queue of{std::pmr::get_default_resource()};
    void push(std::size_t n) {
        for (std::size_t i = 0; i != n; ++i) ASSERT_TRUE(of.push(int{}));
    }
    void drop(std::size_t n) {
        for (std::size_t i = 0; i != n; ++i) ASSERT_TRUE(of.drop());
    }
};

TEST(slot_queue, counts_what_is_there_from_the_next_value_on) {
    filled q;
    EXPECT_EQ(q.of.available(), 0U);
    for (std::size_t n = 1; n <= 2 * block; ++n) {
        q.push(1);
        EXPECT_EQ(q.of.available(), n);
    }
    for (std::size_t n = 2 * block; n-- > 0;) {
        q.drop(1);
        EXPECT_EQ(q.of.available(), n);
    }
}

TEST(slot_queue, counts_no_more_than_its_first_and_its_last_block) {
    filled q;
    q.push(5 * block + 3);
    q.drop(2);
    EXPECT_EQ(q.of.available(), block - 2 + 3);
}

TEST(slot_queue, says_that_there_is_something_at_its_end) {
    filled q;
    q.push(1);
    ASSERT_TRUE(q.of.seal());
    EXPECT_NE(q.of.available(), 0U);
    q.drop(1);
    EXPECT_NE(q.of.available(), 0U) << "nothing to wait for";
    EXPECT_EQ(q.of.look(), queue::closed);
}

}  // namespace
