// Coroutines that a ready ring has no room for.
#include "../../../src/executor/detail/spilled_ready.hpp"

#include <gtest/gtest.h>

#include <coroutine>
#include <cstddef>
#include <vector>

namespace {

using coflux::detail::ready_ring;
using coflux::detail::spilled_ready;

/// Stands for the n-th coroutine; never resumed.
std::coroutine_handle<> nth(std::size_t n) {
    return std::coroutine_handle<>::from_address(reinterpret_cast<void*>((n + 1) * 8));
}
/// As serial_worker does it.
struct queue {
    ready_ring ring;
    spilled_ready spilled;
    void push(std::size_t n) {
        if (!ring.push(nth(n).address())) spilled.take_over(ring, nth(n));
    }
    std::coroutine_handle<> take() {
        return spilled.empty() ? std::coroutine_handle<>::from_address(ring.take()) : spilled.take();
    }
};

TEST(spilled_ready, keeps_the_order_of_the_pushes) {
    for (const std::size_t count : {1U, 256U, 257U, 513U, 514U, 10'000U}) {
        queue q;
        for (std::size_t n = 0; n < count; ++n) q.push(n);
        for (std::size_t n = 0; n < count; ++n) ASSERT_EQ(q.take(), nth(n)) << count;
        EXPECT_FALSE(q.take());
        EXPECT_TRUE(q.spilled.empty());
    }
}

TEST(spilled_ready, keeps_the_order_while_it_is_taken_from) {
    for (const std::size_t length : {255U, 256U, 300U, 700U, 5000U}) {
        queue q;
        std::size_t pushed = 0;
        while (pushed < length) q.push(pushed++);
        for (std::size_t n = 0; n < 20 * length; ++n) {
            ASSERT_EQ(q.take(), nth(n)) << length;
            q.push(pushed++);
        }
    }
}

TEST(spilled_ready, is_empty_again_after_each_burst) {
    queue q;
    for (int burst = 0; burst < 5; ++burst) {
        for (std::size_t n = 0; n < 6000; ++n) q.push(n);
        EXPECT_FALSE(q.spilled.empty());
        for (std::size_t n = 0; n < 6000; ++n) ASSERT_EQ(q.take(), nth(n));
        EXPECT_TRUE(q.spilled.empty());
    }
}

}  // namespace
