#include <coflux/base/thread.hpp>

#include <gtest/gtest.h>

namespace {

namespace detail = coflux::detail;

TEST(thread_seam, hands_a_turn_to_and_fro_between_two_threads) {
    detail::mutex lock;
    detail::condition_variable changed;
    int turns = 0;
    const auto take_every_second_turn = [&](int first) {
        for (int turn = first; turn < 1000; turn += 2) {
            detail::unique_lock<detail::mutex> guard(lock);
            changed.wait(guard, [&] { return turns == turn; });
            ++turns;
            changed.notify_one();
        }
    };
    detail::thread other(take_every_second_turn, 1);
    take_every_second_turn(0);
    other.join();
    const detail::lock_guard<detail::mutex> guard(lock);
    EXPECT_EQ(turns, 1000);
}

}  // namespace
