#include <coflux/memory/arena.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <new>

#include <coflux/coflux.hpp>

namespace {

using coflux::arena;
using coflux::counting_resource;

TEST(arena, gives_aligned_blocks_that_do_not_overlap) {
    arena memory(256);
    unsigned char* previous_end = nullptr;
    unsigned char* previous = nullptr;
    std::size_t previous_bytes = 0;
    for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t alignment = std::size_t{1} << i % 7;
        const std::size_t bytes = 1 + i * 7 % 50;
        auto* const at = static_cast<unsigned char*>(memory.allocate(bytes, alignment));
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(at) % alignment, 0U);
        std::memset(at, static_cast<int>(i), bytes);
        if (previous != nullptr && previous_end <= at + bytes) {
            for (std::size_t k = 0; k < previous_bytes; ++k) ASSERT_EQ(previous[k], i - 1) << "block " << i - 1;
        }
        previous = at;
        previous_bytes = bytes;
        previous_end = at + bytes;
    }
}

TEST(arena, counts_what_it_handed_out_until_it_is_released) {
    arena memory;
    EXPECT_EQ(memory.used(), 0U);
    void* const a = memory.allocate(100, 8);
    (void)memory.allocate(28, 4);
    EXPECT_EQ(memory.used(), 128U);
    memory.deallocate(a, 100, 8);
    EXPECT_EQ(memory.used(), 128U);
    memory.release();
    EXPECT_EQ(memory.used(), 0U);
}

TEST(arena, takes_a_chunk_at_a_time_and_gives_all_back_on_release) {
    counting_resource upstream;
    arena memory(1024, &upstream);
    for (int i = 0; i < 1000; ++i) (void)memory.allocate(64, 16);
    EXPECT_GE(upstream.allocations(), 2U);
    EXPECT_LE(upstream.allocations(), 12U);  // the chunks grow with their number
    EXPECT_GE(upstream.live_bytes(), 64'000U);
    memory.release();
    EXPECT_EQ(upstream.live(), 0U);
    EXPECT_EQ(upstream.live_bytes(), 0U);
    (void)memory.allocate(64, 16);
    EXPECT_EQ(upstream.live(), 1U);
}

TEST(arena, gives_its_chunks_back_when_it_dies) {
    counting_resource upstream;
    {
        arena memory(1024, &upstream);
        (void)memory.allocate(10'000, 16);
        EXPECT_NE(upstream.live(), 0U);
    }
    EXPECT_EQ(upstream.live(), 0U);
}

TEST(arena, passes_on_the_error_of_its_upstream_and_counts_nothing) {
    counting_resource upstream;
    arena memory(64, &upstream);
    upstream.fail_at(1);
    EXPECT_THROW((void)memory.allocate(1000, 16), std::bad_alloc);
    EXPECT_EQ(memory.used(), 0U);
    EXPECT_NE(memory.allocate(1000, 16), nullptr);
}

TEST(arena, is_equal_to_itself_only) {
    arena one;
    arena other;
    EXPECT_TRUE(one.is_equal(one));
    EXPECT_FALSE(one.is_equal(other));
}

coflux::fork<int, coflux::noop_executor> leaf(auto&&, int x) {
    co_return x;
}

coflux::task<int, coflux::thread_pool_executor> subtree(auto&&, coflux::borrowed<arena> memory) {
    auto&& here = co_await coflux::context();
    auto below = coflux::make_environment(here, &memory.get());
    int sum = 0;
    for (int i = 0; i < 100; ++i) sum += co_await leaf(below, i);
    co_await below.join();
    co_return sum;
}

TEST(arena, holds_the_frames_of_a_subtree) {
    counting_resource upstream;
    arena memory(512, &upstream);
    {
        coflux::thread_pool_executor pool(1);
        auto env = coflux::make_environment(pool);
        EXPECT_EQ(subtree(env, coflux::borrowed(memory)).get(), 4950);
    }
    EXPECT_GE(memory.used(), 100U * 64U);
    memory.release();
    EXPECT_EQ(upstream.live(), 0U);
}

}  // namespace
