// A thread that waits gives back: its lists, and the reserve that no thread uses.
#include "../../../src/memory/detail/idle_memory.hpp"

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include <coflux/memory/frame_pool.hpp>

#include <gtest/gtest.h>

namespace {

using coflux::frame_pool;
using coflux::detail::idle_memory;

#define COFLUX_TEST_NEEDS_SLABS() \
    if (COFLUX_ASAN) GTEST_SKIP() << "the pool passes through to the heap under AddressSanitizer"

std::size_t slab_bytes() {
    return frame_pool::shared().stats().slab_bytes;
}
constexpr auto never = [] { return false; };
constexpr std::size_t mebibyte = std::size_t{1024} * 1024;

/// Frees 8 MiB, most of which goes to the reserve.
void burst() {
    std::vector<void*> blocks(8 * mebibyte / 128);
    for (void*& b : blocks) b = frame_pool::shared().allocate(128, 16);
    for (void* const b : blocks) frame_pool::shared().deallocate(b, 128, 16);
}

TEST(idle_memory, is_what_the_thread_and_the_reserve_keep) {
    COFLUX_TEST_NEEDS_SLABS();
    frame_pool::shared().trim();
    const std::size_t before = slab_bytes();
    burst();
    EXPECT_GE(slab_bytes() - before, 8 * mebibyte);
    idle_memory waits;
    waits.begin();
    EXPECT_FALSE(waits.give_back(true, never));
    EXPECT_EQ(slab_bytes(), before);
}

TEST(idle_memory, is_the_threads_alone_where_its_pool_has_work) {
    COFLUX_TEST_NEEDS_SLABS();
    frame_pool::shared().trim();
    const std::size_t before = slab_bytes();
    frame_pool::shared().deallocate(frame_pool::shared().allocate(256, 16), 256, 16);
    burst();
    const std::size_t kept = slab_bytes();
    idle_memory waits;
    waits.begin();
    EXPECT_TRUE(waits.give_back(false, never));
    EXPECT_LT(slab_bytes(), kept);
    EXPECT_GE(slab_bytes() - before, 7 * mebibyte);
    EXPECT_FALSE(waits.give_back(true, never));
    EXPECT_EQ(slab_bytes(), before);
}

/// The bytes of the process in memory; 0 where the system does not say.
std::size_t resident_bytes() {
    std::ifstream file("/proc/self/smaps_rollup");
    for (std::string word; file >> word;) {
        std::size_t kibibytes = 0;
        if (word == "Rss:" && file >> kibibytes) return kibibytes * 1024;
    }
    return 0;
}
TEST(idle_memory, goes_to_the_system_whatever_the_heap_keeps) {
    COFLUX_TEST_NEEDS_SLABS();
    if (resident_bytes() == 0) GTEST_SKIP() << "no /proc/self/smaps_rollup";
    // Once before: glibc maps large blocks one by one until the first of a size is freed.
    burst();
    frame_pool::shared().trim();
    burst();
    // Above what is given back: a heap that gives back its end keeps the rest.
    const std::vector<std::vector<char>> above(64, std::vector<char>(64 * 1024, 'x'));
    const std::size_t before = resident_bytes();
    idle_memory waits;
    waits.begin();
    EXPECT_FALSE(waits.give_back(true, never));
    EXPECT_LE(resident_bytes() + 6 * mebibyte, before);
    EXPECT_EQ(above.back().back(), 'x');
}

TEST(idle_memory, leaves_a_reserve_that_is_in_use_until_a_later_try) {
    COFLUX_TEST_NEEDS_SLABS();
    frame_pool::shared().trim();
    const std::size_t before = slab_bytes();
    idle_memory waits;
    waits.begin();
    burst();
    EXPECT_TRUE(waits.give_back(true, never));
    EXPECT_GE(slab_bytes() - before, 7 * mebibyte);
    waits.begin();
    EXPECT_FALSE(waits.give_back(true, never));
    EXPECT_EQ(slab_bytes(), before);
}

TEST(idle_memory, stays_where_work_comes_while_it_is_given_back) {
    COFLUX_TEST_NEEDS_SLABS();
    frame_pool::shared().trim();
    const std::size_t before = slab_bytes();
    burst();
    idle_memory waits;
    waits.begin();
    int asked = 0;
    EXPECT_TRUE(waits.give_back(true, [&asked] { return ++asked > 3; }));
    EXPECT_GE(slab_bytes() - before, 6 * mebibyte);
    frame_pool::shared().trim();
    EXPECT_EQ(slab_bytes(), before);
}

}  // namespace
