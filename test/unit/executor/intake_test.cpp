// The steps of pushing, taking and resting, one by one; test/model/intake_model.cpp has their interleavings.
#include "../../../src/executor/detail/intake.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <thread>
#include <vector>

#include <support/iterations.hpp>

namespace {

using coflux::detail::intake;

/// Stands for the n-th coroutine; never resumed.
std::coroutine_handle<> nth(std::size_t n) {
    return std::coroutine_handle<>::from_address(reinterpret_cast<void*>((n + 1) * 8));
}

TEST(intake, is_at_rest_at_first) {
    intake q;
    EXPECT_FALSE(q.has_some());
    EXPECT_FALSE(q.take());
    EXPECT_TRUE(q.push(nth(0), false));
    EXPECT_TRUE(q.has_some());
}

TEST(intake, has_one_pusher_rouse_the_taker_for_each_rest) {
    intake q;
    EXPECT_TRUE(q.push(nth(0), false));
    EXPECT_FALSE(q.push(nth(1), false));
    EXPECT_EQ(q.take(), nth(0));
    EXPECT_FALSE(q.push(nth(2), false));
    EXPECT_FALSE(q.rest());  // there is one that the taker has not seen
    EXPECT_EQ(q.take(), nth(1));
    EXPECT_EQ(q.take(), nth(2));
    EXPECT_FALSE(q.take());
    EXPECT_TRUE(q.rest());
    EXPECT_TRUE(q.push(nth(3), false));
}

TEST(intake, has_no_pusher_rouse_a_taker_that_came_by_itself) {
    intake q;
    q.attend();
    EXPECT_FALSE(q.push(nth(0), true));
    q.wait_for_rousers();  // none
}

TEST(intake, says_under_the_lock_whether_it_rests) {
    intake q;
    EXPECT_TRUE(q.with_lock([](bool rests) noexcept { return rests; }));
    q.attend();
    EXPECT_FALSE(q.with_lock([](bool rests) noexcept { return rests; }));
    bool rested = false;
    EXPECT_TRUE(q.rest([&rested]() noexcept { rested = true; }));
    EXPECT_TRUE(rested);
    EXPECT_TRUE(q.push(nth(0), false));
    rested = false;
    EXPECT_FALSE(q.rest([&rested]() noexcept { rested = true; }));
    EXPECT_FALSE(rested);
}

TEST(intake, keeps_the_order_of_the_pushes_however_many_they_are) {
    intake q;
    for (const std::size_t count : {1U, 15U, 16U, 17U, 5000U, 3U, 20'000U, 1U}) {
        for (std::size_t n = 0; n < count; ++n) (void)q.push(nth(n), false);
        for (std::size_t n = 0; n < count; ++n) ASSERT_EQ(q.take(), nth(n)) << count;
        EXPECT_FALSE(q.take());
    }
}

TEST(intake, waits_for_those_that_rouse) {
    intake q;
    EXPECT_TRUE(q.push(nth(0), true));
    q.begin_to_rouse();
    std::atomic<int> left{2};
    std::thread rouser([&] {
        for (int i = 0; i < 2; ++i) {
            --left;
            q.roused();
        }
    });
    q.wait_for_rousers();
    EXPECT_EQ(left, 0);
    rouser.join();
}

TEST(intake, grows_while_many_push_and_one_takes) {
    constexpr std::size_t pushers = 4;
    constexpr std::size_t each = coflux_test::repetitions(200'000);
    intake q;
    std::vector<std::thread> threads;
    for (std::size_t p = 0; p < pushers; ++p) {
        threads.emplace_back([&q, p] {
            for (std::size_t n = 0; n < each; ++n) (void)q.push(nth(n * pushers + p), false);
        });
    }
    std::vector<std::size_t> next(pushers, 0);
    std::size_t disordered = 0;
    for (std::size_t taken = 0; taken < pushers * each;) {
        const std::coroutine_handle<> h = q.take();
        if (!h) {
            std::this_thread::yield();
            continue;
        }
        const std::size_t n = reinterpret_cast<std::size_t>(h.address()) / 8 - 1;
        if (next[n % pushers]++ != n / pushers) ++disordered;
        ++taken;
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(disordered, 0U);
    EXPECT_FALSE(q.take());
}

}  // namespace
