#include <coflux/base/atomic.hpp>

#include <gtest/gtest.h>

#include <cstddef>
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

TEST(relaxed_word, is_written_by_its_owner_while_others_read_it) {
    const int rounds = static_cast<int>(coflux_test::repetitions(200'000));
    detail::relaxed<int> word = 0;
    std::size_t backwards = 0;
    std::thread reader([&] {
        for (int last = 0; last != rounds;) {
            const int now = word;
            if (now < last) ++backwards;
            if (now == last) std::this_thread::yield();
            last = now;
        }
    });
    for (int i = 1; i <= rounds; ++i) word = i;
    reader.join();
    EXPECT_EQ(backwards, 0U);
    EXPECT_EQ(word, rounds);
}

TEST(relaxed_word, is_as_large_as_what_it_holds) {
    EXPECT_EQ(sizeof(detail::relaxed<std::uint32_t>), sizeof(std::uint32_t));
    EXPECT_EQ(sizeof(detail::relaxed<void*>), sizeof(void*));
}

}  // namespace
