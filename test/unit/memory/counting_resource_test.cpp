#include <coflux/memory/counting_resource.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory_resource>
#include <new>
#include <thread>
#include <vector>

#include <support/iterations.hpp>

namespace {

using coflux::counting_resource;

TEST(counting_resource, counts_blocks_and_bytes) {
    counting_resource memory;
    void* const a = memory.allocate(100, 16);
    void* const b = memory.allocate(50, 16);
    EXPECT_EQ(memory.allocations(), 2U);
    EXPECT_EQ(memory.live(), 2U);
    EXPECT_EQ(memory.live_bytes(), 150U);
    memory.deallocate(a, 100, 16);
    EXPECT_EQ(memory.deallocations(), 1U);
    EXPECT_EQ(memory.live(), 1U);
    EXPECT_EQ(memory.live_bytes(), 50U);
    memory.deallocate(b, 50, 16);
    EXPECT_EQ(memory.live(), 0U);
    EXPECT_EQ(memory.live_bytes(), 0U);
}

TEST(counting_resource, remembers_the_most_bytes_alive_at_once) {
    counting_resource memory;
    memory.deallocate(memory.allocate(300, 8), 300, 8);
    EXPECT_EQ(memory.peak_bytes(), 300U);
    void* const a = memory.allocate(100, 8);
    EXPECT_EQ(memory.peak_bytes(), 300U);
    void* const b = memory.allocate(250, 8);
    EXPECT_EQ(memory.peak_bytes(), 350U);
    memory.deallocate(b, 250, 8);
    memory.deallocate(a, 100, 8);
    EXPECT_EQ(memory.peak_bytes(), 350U);
}

TEST(counting_resource, passes_everything_to_its_upstream) {
    counting_resource upstream;
    counting_resource memory(&upstream);
    void* const block = memory.allocate(77, 32);
    EXPECT_EQ(upstream.allocations(), 1U);
    EXPECT_EQ(upstream.live_bytes(), 77U);
    memory.deallocate(block, 77, 32);
    EXPECT_EQ(upstream.live(), 0U);
}

TEST(counting_resource, fails_the_named_allocation_and_no_other) {
    counting_resource upstream;
    counting_resource memory(&upstream);
    for (std::size_t n = 1; n <= 4; ++n) {
        memory.fail_at(n);
        for (std::size_t i = 1; i <= 6; ++i) {
            const std::size_t before = upstream.allocations();
            if (i == n) {
                EXPECT_THROW((void)memory.allocate(16, 8), std::bad_alloc);
                EXPECT_EQ(upstream.allocations(), before);
            } else {
                memory.deallocate(memory.allocate(16, 8), 16, 8);
                EXPECT_EQ(upstream.allocations(), before + 1);
            }
        }
    }
    EXPECT_EQ(memory.allocations(), 20U);
    EXPECT_EQ(memory.live(), 0U);
}

TEST(counting_resource, does_not_fail_once_disarmed) {
    counting_resource memory;
    memory.fail_at(2);
    memory.deallocate(memory.allocate(16, 8), 16, 8);
    memory.fail_at(0);
    for (int i = 0; i < 5; ++i) memory.deallocate(memory.allocate(16, 8), 16, 8);
    EXPECT_EQ(memory.allocations(), 6U);
}

TEST(counting_resource, counts_nothing_when_its_upstream_fails) {
    counting_resource memory(std::pmr::null_memory_resource());
    EXPECT_THROW((void)memory.allocate(16, 8), std::bad_alloc);
    EXPECT_EQ(memory.allocations(), 0U);
    EXPECT_EQ(memory.peak_bytes(), 0U);
}

TEST(counting_resource, loses_no_count_between_threads) {
    counting_resource memory;
    const std::size_t rounds = coflux_test::repetitions(200'000);
    const auto come_and_go = [&] {
        for (std::size_t i = 0; i < rounds; ++i) memory.deallocate(memory.allocate(40, 8), 40, 8);
    };
    std::thread other(come_and_go);
    come_and_go();
    other.join();
    EXPECT_EQ(memory.allocations(), 2 * rounds);
    EXPECT_EQ(memory.deallocations(), 2 * rounds);
    EXPECT_EQ(memory.live_bytes(), 0U);
    EXPECT_LE(memory.peak_bytes(), 80U);
}

TEST(counting_resource, fails_one_allocation_only_when_threads_compete) {
    counting_resource memory;
    memory.fail_at(1000);
    std::size_t failures[2] = {0, 0};
    const auto come_and_go = [&](std::size_t self) {
        for (std::size_t i = 0; i < 5000; ++i) {
            try {
                memory.deallocate(memory.allocate(40, 8), 40, 8);
            } catch (const std::bad_alloc&) {
                ++failures[self];
            }
        }
    };
    std::thread other(come_and_go, 1);
    come_and_go(0);
    other.join();
    EXPECT_EQ(failures[0] + failures[1], 1U);
    EXPECT_EQ(memory.allocations(), 9999U);
}

TEST(counting_resource, is_equal_to_itself_only) {
    counting_resource one;
    counting_resource other;
    EXPECT_TRUE(one.is_equal(one));
    EXPECT_FALSE(one.is_equal(other));
}

}  // namespace
