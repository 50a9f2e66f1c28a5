#include <coflux/memory/frame_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <new>
#include <vector>

#include <support/iterations.hpp>

namespace {

using coflux::frame_pool;
using coflux::frame_pool_stats;

frame_pool& pool() {
    return frame_pool::shared();
}

/// Under AddressSanitizer every block comes from the heap, which poisons what was freed: there is no reuse to see.
#define COFLUX_TEST_NEEDS_SLABS() \
    if (COFLUX_ASAN) GTEST_SKIP() << "the pool passes through to the heap under AddressSanitizer"

struct block {
    void* at;
    std::size_t bytes;
    std::size_t alignment;
    unsigned char mark;
};

block filled_block(std::size_t bytes, std::size_t alignment, unsigned char mark) {
    void* const at = pool().allocate(bytes, alignment);
    std::memset(at, mark, bytes);
    return {at, bytes, alignment, mark};
}

bool keeps_its_mark(const block& b) {
    const auto* const bytes = static_cast<const unsigned char*>(b.at);
    return std::all_of(bytes, bytes + b.bytes, [&](unsigned char byte) { return byte == b.mark; });
}

void give_back(const block& b) {
    pool().deallocate(b.at, b.bytes, b.alignment);
}

TEST(frame_pool, gives_aligned_blocks_of_every_size_that_do_not_overlap) {
    std::vector<block> blocks;
    for (const std::size_t alignment : {1U, 8U, 16U, 32U, 64U, 128U, 4096U}) {
        for (std::size_t bytes = 1; bytes < 5000; bytes += 13) {
            const auto mark = static_cast<unsigned char>(blocks.size() % 251);
            blocks.push_back(filled_block(bytes, alignment, mark));
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().at) % alignment, 0U)
                << bytes << " bytes, aligned to " << alignment;
        }
    }
    for (const block& b : blocks) ASSERT_TRUE(keeps_its_mark(b)) << b.bytes << " bytes, aligned to " << b.alignment;
    for (const block& b : blocks) give_back(b);
}

TEST(frame_pool, gives_no_two_blocks_of_one_cache_line) {
    COFLUX_TEST_NEEDS_SLABS();
    std::vector<block> blocks;
    for (std::size_t bytes = 1; bytes <= 512; ++bytes) {
        blocks.push_back(filled_block(bytes, 16, 1));
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().at) % 64, 0U) << bytes << " bytes";
    }
    for (const block& b : blocks) give_back(b);
}

TEST(frame_pool, keeps_every_block_of_a_class_inside_a_slab) {
    // Three slabs of each class: the last block of a slab is where a wrong bound would show.
    for (const std::size_t bytes : {64U, 128U, 192U, 320U, 512U, 1024U, 1088U, 1984U, 2048U, 2112U, 3968U, 4032U}) {
        std::vector<block> blocks;
        for (std::size_t i = 0; i < 3 * 65536 / bytes; ++i)
            blocks.push_back(filled_block(bytes, 64, static_cast<unsigned char>(i % 251)));
        for (const block& b : blocks) ASSERT_TRUE(keeps_its_mark(b)) << "class of " << bytes << " bytes";
        for (const block& b : blocks) give_back(b);
    }
}

TEST(frame_pool, gives_a_block_of_zero_bytes) {
    void* const a = pool().allocate(0, 1);
    void* const b = pool().allocate(0, 1);
    EXPECT_NE(a, nullptr);
    EXPECT_NE(a, b);
    pool().deallocate(a, 0, 1);
    pool().deallocate(b, 0, 1);
}

TEST(frame_pool, gives_the_block_freed_last_to_the_next_of_its_class) {
    COFLUX_TEST_NEEDS_SLABS();
    void* const first = pool().allocate(100, 16);
    void* const second = pool().allocate(110, 16);
    pool().deallocate(second, 110, 16);
    pool().deallocate(first, 100, 16);
    EXPECT_EQ(pool().allocate(128, 16), first);
    EXPECT_EQ(pool().allocate(97, 16), second);
    pool().deallocate(first, 128, 16);
    pool().deallocate(second, 97, 16);
}

TEST(frame_pool, does_not_mix_classes) {
    COFLUX_TEST_NEEDS_SLABS();
    void* const small = pool().allocate(128, 16);
    pool().deallocate(small, 128, 16);
    void* const large = pool().allocate(129, 16);
    ASSERT_NE(large, small);
    EXPECT_EQ(pool().allocate(128, 16), small);
    pool().deallocate(small, 128, 16);
    pool().deallocate(large, 129, 16);
}

TEST(frame_pool, takes_no_slab_when_blocks_come_and_go) {
    COFLUX_TEST_NEEDS_SLABS();
    give_back(filled_block(200, 16, 1));
    const frame_pool_stats before = pool().stats();
    for (int round = 0; round < 100'000; ++round) {
        void* const a = pool().allocate(200, 16);
        void* const b = pool().allocate(210, 16);
        pool().deallocate(a, 200, 16);
        pool().deallocate(b, 210, 16);
    }
    EXPECT_EQ(pool().stats().slabs_acquired, before.slabs_acquired);
}

TEST(frame_pool, takes_slabs_for_what_lives_and_gives_them_back_on_trim) {
    COFLUX_TEST_NEEDS_SLABS();
    pool().trim();
    const frame_pool_stats before = pool().stats();
    std::vector<block> blocks;
    for (int i = 0; i < 10'000; ++i) blocks.push_back(filled_block(256, 16, static_cast<unsigned char>(i % 251)));
    const std::size_t held = pool().stats().slab_bytes - before.slab_bytes;
    EXPECT_GE(held, 10'000U * 256U);
    EXPECT_LE(held, 10'000U * 256U * 11U / 10U);
    for (const block& b : blocks) give_back(b);
    pool().trim();
    const frame_pool_stats after = pool().stats();
    EXPECT_EQ(after.slab_bytes, before.slab_bytes);
    EXPECT_EQ(after.slabs_acquired - before.slabs_acquired, after.slabs_released - before.slabs_released);
}

/// Sets the bound of the reserve, and what it is by default at the end.
class reserve_of {
public:
    explicit reserve_of(std::size_t bytes) { pool().set_reserve_limit(bytes); }
    ~reserve_of() { pool().set_reserve_limit(std::size_t{256} * 1024 * 1024); }
    reserve_of(const reserve_of&) = delete;
    reserve_of& operator=(const reserve_of&) = delete;
};

/// Allocates `total` bytes in blocks of `bytes` and frees them all.
void burst(std::size_t total, std::size_t bytes) {
    std::vector<void*> blocks(total / bytes);
    for (void*& b : blocks) b = pool().allocate(bytes, 16);
    for (void* const b : blocks) pool().deallocate(b, bytes, 16);
}

TEST(frame_pool, keeps_no_more_than_the_bound_of_any_class) {
    COFLUX_TEST_NEEDS_SLABS();
    const reserve_of none(0);
    for (std::size_t bytes = 64; bytes <= 4032; bytes += 64) {
        pool().trim();
        const std::size_t before = pool().stats().slab_bytes;
        burst(std::size_t{4} * 1024 * 1024, bytes);
        // A thread's list of one class holds up to twice 256 KiB for a moment, and its blocks pin their slabs.
        ASSERT_LE(pool().stats().slab_bytes - before, 1024U * 1024U) << "class of " << bytes << " bytes";
    }
    pool().trim();
}

TEST(frame_pool, serves_a_burst_again_from_its_reserve) {
    COFLUX_TEST_NEEDS_SLABS();
    pool().trim();
    burst(std::size_t{8} * 1024 * 1024, 128);
    const std::size_t acquired = pool().stats().slabs_acquired;
    for (int i = 0; i < 5; ++i) burst(std::size_t{8} * 1024 * 1024, 128);
    EXPECT_EQ(pool().stats().slabs_acquired, acquired);
    pool().trim();
}

TEST(frame_pool, keeps_no_more_in_reserve_than_its_limit) {
    COFLUX_TEST_NEEDS_SLABS();
    constexpr std::size_t bound = std::size_t{2} * 1024 * 1024;
    const reserve_of some(bound);
    pool().trim();
    const std::size_t before = pool().stats().slab_bytes;
    burst(std::size_t{16} * 1024 * 1024, 128);
    const std::size_t kept = pool().stats().slab_bytes - before;
    EXPECT_GE(kept, bound / 2);
    EXPECT_LE(kept, bound + 1024U * 1024U);
    pool().trim();
    EXPECT_EQ(pool().stats().slab_bytes, before);
}

TEST(frame_pool, leaves_live_blocks_alone_when_trimmed) {
    std::vector<block> blocks;
    for (int i = 0; i < 2000; ++i) blocks.push_back(filled_block(144, 16, static_cast<unsigned char>(i % 251)));
    for (std::size_t i = 0; i < blocks.size(); i += 2) give_back(blocks[i]);
    pool().trim();
    std::vector<block> others;
    for (int i = 0; i < 2000; ++i) others.push_back(filled_block(144, 16, 255));
    for (std::size_t i = 1; i < blocks.size(); i += 2) ASSERT_TRUE(keeps_its_mark(blocks[i])) << "block " << i;
    for (const block& b : others) ASSERT_TRUE(keeps_its_mark(b));
    for (std::size_t i = 1; i < blocks.size(); i += 2) give_back(blocks[i]);
    for (const block& b : others) give_back(b);
}

TEST(frame_pool, serves_large_and_strictly_aligned_blocks_without_slabs) {
    pool().trim();
    const frame_pool_stats before = pool().stats();
    std::vector<block> blocks{filled_block(4065, 16, 1), filled_block(100'000, 64, 2), filled_block(64, 128, 3),
                              filled_block(3000, 4096, 4)};
    for (const block& b : blocks) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.at) % b.alignment, 0U);
        EXPECT_TRUE(keeps_its_mark(b));
    }
    EXPECT_EQ(pool().stats().slabs_acquired, before.slabs_acquired);
    for (const block& b : blocks) give_back(b);
}

TEST(frame_pool, refuses_what_the_heap_cannot_give) {
    if (coflux_test::sanitized) GTEST_SKIP() << "the sanitizers' heaps abort at such a request";
    EXPECT_THROW((void)pool().allocate(std::size_t{1} << 50, 16), std::bad_alloc);
    give_back(filled_block(64, 16, 1));
}

TEST(frame_pool, is_equal_to_itself_only) {
    EXPECT_TRUE(pool().is_equal(frame_pool::shared()));
    EXPECT_FALSE(pool().is_equal(*std::pmr::new_delete_resource()));
}

TEST(frame_pool, shares_its_blocks_with_the_inline_way_that_coroutines_use) {
    COFLUX_TEST_NEEDS_SLABS();
    void* const at = coflux::detail::allocate_pooled(300, 16);
    pool().deallocate(at, 300, 16);
    EXPECT_EQ(pool().allocate(300, 16), at);
    coflux::detail::deallocate_pooled(at, 300, 16);
    EXPECT_EQ(coflux::detail::allocate_pooled(300, 16), at);
    coflux::detail::deallocate_pooled(at, 300, 16);
}

}  // namespace
