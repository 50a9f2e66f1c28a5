#include <coflux/memory/frame_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <support/iterations.hpp>

namespace {

using coflux::frame_pool;

frame_pool& pool() {
    return frame_pool::shared();
}

std::size_t slab_bytes() {
    return pool().stats().slab_bytes;
}

#define COFLUX_TEST_NEEDS_SLABS() \
    if (COFLUX_ASAN) GTEST_SKIP() << "the pool passes through to the heap under AddressSanitizer"

/// Blocks on their way from one thread to another, first in, first out.
class mailbox {
public:
    static constexpr std::size_t capacity = 256;

    void put(void* block) {
        const std::size_t at = put_.load(std::memory_order_relaxed);
        while (at - taken_.load(std::memory_order_acquire) == capacity) std::this_thread::yield();
        cells_[at % capacity] = block;
        put_.store(at + 1, std::memory_order_release);
    }
    void* take() {
        const std::size_t at = taken_.load(std::memory_order_relaxed);
        while (at == put_.load(std::memory_order_acquire)) std::this_thread::yield();
        void* const block = cells_[at % capacity];
        taken_.store(at + 1, std::memory_order_release);
        return block;
    }

private:
    std::array<void*, capacity> cells_{};
    std::atomic<std::size_t> put_{0};
    std::atomic<std::size_t> taken_{0};
};

TEST(frame_pool, holds_a_bounded_number_of_blocks_when_all_are_freed_on_another_thread) {
    COFLUX_TEST_NEEDS_SLABS();
    constexpr std::size_t bytes = 256;
    const std::size_t blocks = coflux_test::repetitions(500'000);
    pool().trim();
    const std::size_t before = slab_bytes();
    mailbox sent;
    std::size_t most = 0;
    std::thread consumer([&] {
        for (std::size_t i = 0; i < blocks; ++i) pool().deallocate(sent.take(), bytes, 16);
    });
    for (std::size_t i = 0; i < blocks; ++i) {
        sent.put(pool().allocate(bytes, 16));
        if (i % 1000 == 0) most = std::max(most, slab_bytes());
    }
    consumer.join();
    // Two lists of twice 256 KiB for a moment, blocks that go back, and chains on their way from one to the other.
    EXPECT_LE(most - before, 2048U * 1024U);
    pool().trim();
    EXPECT_EQ(slab_bytes(), before) << "the consumer's list was not given back when its thread ended";
}

TEST(frame_pool, keeps_blocks_whole_when_two_threads_free_each_others) {
    constexpr std::size_t burst = mailbox::capacity;
    const std::size_t rounds = coflux_test::repetitions(400'000) / burst;
    std::array<mailbox, 2> mail;
    std::atomic<std::size_t> wrong{0};
    // A block holds its size, its number and, in its last word, its size again.
    const auto trade = [&](std::size_t self) {
        std::mt19937 random(static_cast<std::uint32_t>(self) + 1);
        for (std::size_t i = 0; i < rounds * burst; ++i) {
            const std::size_t bytes = 32 + random() % 600;
            auto* const made = static_cast<std::size_t*>(pool().allocate(bytes, 16));
            made[0] = bytes;
            made[1] = i;
            made[bytes / sizeof(std::size_t) - 1] = bytes;
            mail[self].put(made);
            if (i % burst != burst - 1) continue;
            for (std::size_t taken = i + 1 - burst; taken <= i; ++taken) {
                auto* const got = static_cast<std::size_t*>(mail[1 - self].take());
                const std::size_t size = got[0];
                if (got[1] != taken || got[size / sizeof(std::size_t) - 1] != size) wrong.fetch_add(1);
                pool().deallocate(got, size, 16);
            }
        }
    };
    std::thread other(trade, 1);
    trade(0);
    other.join();
    EXPECT_EQ(wrong.load(), 0U);
}

TEST(frame_pool, gets_a_threads_lists_back_when_it_ends) {
    COFLUX_TEST_NEEDS_SLABS();
    pool().trim();
    const std::size_t before = slab_bytes();
    std::size_t during = 0;
    std::thread([&] {
        std::vector<void*> blocks(1000);
        for (void*& b : blocks) b = pool().allocate(512, 16);
        during = slab_bytes();
        for (void* const b : blocks) pool().deallocate(b, 512, 16);
    }).join();
    EXPECT_GE(during - before, 1000U * 512U);
    pool().trim();  // the spare slab
    EXPECT_EQ(slab_bytes(), before);
}

TEST(frame_pool, takes_blocks_from_a_thread_that_never_allocated) {
    COFLUX_TEST_NEEDS_SLABS();
    pool().trim();
    const std::size_t before = slab_bytes();
    std::vector<void*> blocks(5000);
    for (void*& b : blocks) b = pool().allocate(64, 64);
    std::thread([&] {
        for (void* const b : blocks) pool().deallocate(b, 64, 64);
    }).join();
    pool().trim();
    EXPECT_EQ(slab_bytes(), before);
}

/// Frees a block when its thread ends, and may use the pool then.
struct last_will {
    void* block = nullptr;
    ~last_will() {
        if (block == nullptr) return;
        pool().deallocate(block, 1000, 16);
        void* const another = pool().allocate(1000, 16);
        *static_cast<int*>(another) = 1;
        pool().deallocate(another, 1000, 16);
    }
};
thread_local last_will will;

TEST(frame_pool, serves_destructors_that_run_after_its_own_clean_up_of_a_thread) {
    pool().trim();
    const std::size_t before = slab_bytes();
    std::thread([] {
        // Made before the pool registers its clean-up, so destroyed after it.
        last_will& mine = will;
        mine.block = pool().allocate(1000, 16);
    }).join();
    pool().trim();
    EXPECT_EQ(slab_bytes(), before);
}

TEST(frame_pool, survives_many_threads_that_come_and_go) {
    pool().trim();
    const std::size_t before = slab_bytes();
    void* handed_on = pool().allocate(96, 16);
    for (int i = 0; i < 200; ++i) {
        std::thread([&] {
            void* const mine = pool().allocate(96, 16);
            pool().deallocate(handed_on, 96, 16);
            handed_on = mine;
        }).join();
    }
    pool().deallocate(handed_on, 96, 16);
    pool().trim();
    EXPECT_EQ(slab_bytes(), before);
}

}  // namespace
