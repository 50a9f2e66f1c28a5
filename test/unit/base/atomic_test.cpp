#include <coflux/base/atomic.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

#include <support/iterations.hpp>

namespace {

namespace detail = coflux::detail;

TEST(atomic_seam, has_no_hidden_lock_in_the_words_of_the_runtime) {
    EXPECT_TRUE(detail::atomic<void*>::is_always_lock_free);
    EXPECT_TRUE(detail::atomic<std::uint64_t>::is_always_lock_free);
    EXPECT_TRUE(detail::atomic<std::uint32_t>::is_always_lock_free);
    EXPECT_TRUE(detail::atomic_ref<std::uint32_t>::is_always_lock_free);
    EXPECT_EQ(sizeof(detail::atomic<std::uint32_t>), sizeof(std::uint32_t));  // a futex word
}

TEST(atomic_seam, publishes_by_release_and_acquire) {
    const std::size_t rounds = coflux_test::repetitions(20'000);
    std::size_t plain = 0;
    detail::atomic<std::size_t> sent{0};
    detail::atomic<std::size_t> seen{0};
    std::size_t wrong = 0;
    std::thread reader([&] {
        for (std::size_t i = 1; i <= rounds; ++i) {
            while (sent.load(detail::memory_order_acquire) != i) std::this_thread::yield();
            if (plain != i) ++wrong;
            seen.store(i, detail::memory_order_release);
        }
    });
    for (std::size_t i = 1; i <= rounds; ++i) {
        plain = i;
        sent.store(i, detail::memory_order_release);
        while (seen.load(detail::memory_order_acquire) != i) std::this_thread::yield();
    }
    reader.join();
    EXPECT_EQ(wrong, 0U);
}

}  // namespace
