// Every slab of the frame pool is entered while it lives, and what lies in its free blocks is the link of a free block.
#include "memory/detail/slab_registry.hpp"

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <coflux/memory/frame_pool.hpp>

#include <gtest/gtest.h>

#include "support/slab_blocks.hpp"

namespace {

using coflux::frame_pool;
using coflux_test::entered_slabs;
using coflux_test::slab_of;

#define COFLUX_TEST_NEEDS_SLABS() \
    if (COFLUX_ASAN) GTEST_SKIP() << "the pool passes through to the heap under AddressSanitizer"

std::size_t slabs_in_use() {
    const coflux::frame_pool_stats now = frame_pool::shared().stats();
    return now.slabs_acquired - now.slabs_released;
}

class blocks {
public:
    blocks(std::size_t count, std::size_t bytes) : at_(count), bytes_(bytes) {
        for (void*& b : at_) b = frame_pool::shared().allocate(bytes_, 16);
    }
    blocks(const blocks&) = delete;
    blocks& operator=(const blocks&) = delete;
    ~blocks() { free(); }
    void free() {
        for (void* const b : at_) frame_pool::shared().deallocate(b, bytes_, 16);
        at_.clear();
    }
    [[nodiscard]] const std::vector<void*>& at() const { return at_; }

private:
    std::vector<void*> at_;
    std::size_t bytes_;
};

TEST(slab_registry, has_the_slab_of_each_block_with_its_class) {
    COFLUX_TEST_NEEDS_SLABS();
    for (const std::size_t bytes : {64U, 128U, 1000U, 4032U}) {
        const blocks some(2 * 65536 / bytes, bytes);
        const auto entered = entered_slabs();
        for (const void* const b : some.at()) {
            const auto found = entered.find(slab_of(b));
            ASSERT_NE(found, entered.end()) << bytes << " bytes";
            EXPECT_EQ(found->second, (bytes - 1) / 64);
        }
    }
}

TEST(slab_registry, has_no_slab_that_was_released) {
    COFLUX_TEST_NEEDS_SLABS();
    frame_pool::shared().trim();
    {
        blocks many(100'000, 128);  // about 200 slabs
        EXPECT_GE(entered_slabs().size(), 190U);
        EXPECT_EQ(entered_slabs().size(), slabs_in_use());
        many.free();
        frame_pool::shared().trim();
    }
    EXPECT_LT(entered_slabs().size(), 100U);
    EXPECT_EQ(entered_slabs().size(), slabs_in_use());
}

TEST(slab_registry, grows_and_uses_its_entries_again) {
    COFLUX_TEST_NEEDS_SLABS();
    frame_pool::shared().trim();
    std::uint64_t used = 0;
    for (int round = 0; round < 3; ++round) {
        blocks many(20'000, 4032);  // 1250 slabs: more than a chunk's entries
        EXPECT_GE(entered_slabs().size(), 1250U);
        EXPECT_EQ(entered_slabs().size(), slabs_in_use());
        many.free();
        frame_pool::shared().trim();
        const std::uint64_t now = coflux::detail::all_slabs.used.load();
        EXPECT_TRUE(round == 0 || now == used) << now << " entries after " << used;
        used = now;
    }
}

TEST(slab_registry, is_entered_by_several_threads_at_once) {
    COFLUX_TEST_NEEDS_SLABS();
    frame_pool::shared().trim();
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
        threads.emplace_back([t] {
            for (int round = 0; round < 10; ++round) {
                blocks many(2000, 256 * (t + 1));
                many.free();
                frame_pool::shared().trim();
            }
        });
    }
    for (std::thread& t : threads) t.join();
    frame_pool::shared().trim();
    EXPECT_EQ(entered_slabs().size(), slabs_in_use());
}

TEST(slab_registry, finds_no_mark_of_a_frame_in_a_free_block) {
    COFLUX_TEST_NEEDS_SLABS();
    blocks some(1000, 128);
    std::vector<void*> at = some.at();
    for (void* const b : at) static_cast<std::uint64_t*>(b)[3] = 1;
    for (const void* const b : at) EXPECT_TRUE(coflux_test::has_mark_of_a_frame(b));
    some.free();  // to the lists, the first page's blocks too, and some on to the reserve
    for (const void* const b : at) ASSERT_FALSE(coflux_test::has_mark_of_a_frame(b));
}

}  // namespace
