#include <coflux/base/ready_ring.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <support/iterations.hpp>

namespace {

using coflux::detail::ready_ring;

TEST(ready_ring, gives_first_in_first_out) {
    ready_ring ring;
    int items[3];
    for (int& item : items) ASSERT_TRUE(ring.push(&item));
    EXPECT_EQ(ring.size(), 3U);
    for (int& item : items) EXPECT_EQ(ring.take(), &item);
    EXPECT_EQ(ring.take(), nullptr);
    EXPECT_EQ(ring.size(), 0U);
}

TEST(ready_ring, refuses_what_does_not_fit_and_keeps_the_rest) {
    ready_ring ring;
    std::vector<int> items(ready_ring::capacity + 1);
    for (std::size_t i = 0; i < ready_ring::capacity; ++i) ASSERT_TRUE(ring.push(&items[i]));
    EXPECT_FALSE(ring.push(&items.back()));
    EXPECT_EQ(ring.size(), ready_ring::capacity);
    EXPECT_EQ(ring.take(), &items.front());
    EXPECT_TRUE(ring.push(&items.back()));
    for (std::size_t i = 1; i < items.size(); ++i) ASSERT_EQ(ring.take(), &items[i]);
    EXPECT_EQ(ring.take(), nullptr);
}

TEST(ready_ring, shows_what_stands_there_and_how_much_was_taken_before) {
    ready_ring ring;
    int item = 0;
    EXPECT_EQ(ring.look(), (ready_ring::glance{0, 0, 0, 0}));
    EXPECT_TRUE(ring.push(&item));
    ring.note_woken_elsewhere();
    ring.note_yield();
    EXPECT_TRUE(ring.push(&item));
    EXPECT_EQ(ring.look(), (ready_ring::glance{0, 2, 1, 1}));
    EXPECT_EQ(ring.take(), &item);
    EXPECT_EQ(ring.look(), (ready_ring::glance{1, 1, 1, 1}));
}

TEST(ready_ring, keeps_the_order_when_it_goes_round) {
    ready_ring ring;
    std::vector<int> items(ready_ring::capacity * 5);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        ASSERT_TRUE(ring.push(&items[i]));
        if (i % 3 != 0 || ring.size() > ready_ring::capacity / 2) {
            ASSERT_EQ(ring.take(), &items[taken++]);
        }
    }
    while (void* const got = ring.take()) ASSERT_EQ(got, &items[taken++]);
    EXPECT_EQ(taken, items.size());
}

/// Pushes `count` numbers on this thread and takes them on `takers` other threads, and on this one when it is full or
/// `owner_takes`.
void race(std::size_t takers, std::size_t count, bool owner_takes) {
    std::vector<std::uint32_t> numbers(count);  // not atomic: only the ring orders writes before reads
    std::vector<std::atomic<std::uint8_t>> seen(count);
    ready_ring ring;
    std::atomic<std::size_t> taken{0};
    std::atomic<std::size_t> out_of_order{0};
    const auto take_one = [&](std::int64_t& last) {
        void* const got = ring.take();
        if (got == nullptr) return false;
        const std::uint32_t number = *static_cast<std::uint32_t*>(got);
        seen[number].fetch_add(1, std::memory_order_relaxed);
        if (static_cast<std::int64_t>(number) <= last) out_of_order.fetch_add(1);
        last = number;
        taken.fetch_add(1, std::memory_order_relaxed);
        return true;
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < takers; ++i) {
        threads.emplace_back([&] {
            for (std::int64_t last = -1; taken.load(std::memory_order_relaxed) < count;) {
                if (!take_one(last)) std::this_thread::yield();
            }
        });
    }
    std::int64_t last = -1;
    for (std::size_t i = 0; i < count; ++i) {
        numbers[i] = static_cast<std::uint32_t>(i);
        while (!ring.push(&numbers[i])) {
            if (!take_one(last)) std::this_thread::yield();
        }
        if (owner_takes && i % 3 == 0) (void)take_one(last);
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(out_of_order.load(), 0U);
    std::size_t wrong = 0;
    for (const auto& times : seen) wrong += times.load() != 1 ? 1 : 0;
    EXPECT_EQ(wrong, 0U) << "of " << count << " elements were lost or taken twice";
}

TEST(ready_ring, gives_every_element_once_and_in_order_to_one_other_thread) {
    race(1, coflux_test::repetitions(4'000'000), false);
}

TEST(ready_ring, gives_every_element_once_and_in_order_to_two_threads_and_its_owner) {
    race(2, coflux_test::repetitions(4'000'000), true);
}

}  // namespace
