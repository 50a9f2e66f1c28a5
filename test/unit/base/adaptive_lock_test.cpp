#include <coflux/base/adaptive_lock.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <support/iterations.hpp>

namespace {

using coflux::detail::adaptive_guard;
using coflux::detail::adaptive_lock;

TEST(adaptive_lock, lets_one_thread_in_at_a_time) {
    adaptive_lock lock;
    std::size_t plain = 0;  // a lost update or a report of a data race if two are in
    const std::size_t rounds = coflux_test::repetitions(1'000'000);
    const auto add = [&] {
        for (std::size_t i = 0; i < rounds; ++i) {
            const adaptive_guard guard(lock);
            ++plain;
        }
    };
    std::thread other(add);
    add();
    other.join();
    EXPECT_EQ(plain, 2 * rounds);
}

TEST(adaptive_lock, keeps_others_out_until_it_is_unlocked) {
    adaptive_lock lock;
    std::atomic<bool> begun{false};
    std::atomic<bool> entered{false};
    lock.lock();
    std::thread other([&] {
        begun = true;
        const adaptive_guard guard(lock);
        entered = true;
    });
    while (!begun) std::this_thread::yield();
    for (int i = 0; i < 50; ++i) std::this_thread::yield();
    EXPECT_FALSE(entered);
    lock.unlock();
    other.join();
    EXPECT_TRUE(entered);
}

TEST(adaptive_lock, is_free_after_its_guard) {
    adaptive_lock lock;
    for (int i = 0; i < 3; ++i) const adaptive_guard guard(lock);
    lock.lock();
    lock.unlock();
}

}  // namespace
