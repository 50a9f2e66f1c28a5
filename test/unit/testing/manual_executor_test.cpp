#include <coflux/testing/manual_executor.hpp>

#include <stdexcept>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

namespace {

using coflux::testing::manual_executor;

coflux::task<int, manual_executor> yields_twice(coflux::environment&) {
    co_await coflux::yield();
    co_await coflux::yield();
    co_return 3;
}
coflux::task<void, manual_executor> waits(coflux::environment&, coflux::borrowed<coflux::manual_reset_event> e) {
    co_await e->wait();
}
coflux::task<void, manual_executor> throws(coflux::environment&) {
    co_await coflux::yield();
    throw std::invalid_argument("thrown");
}

TEST(manual_executor, resumes_only_when_it_is_asked_to) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto t = yields_twice(env);
    EXPECT_EQ(by_hand.pending(), 1U);
    EXPECT_TRUE(by_hand.run_one());
    EXPECT_FALSE(t.done());
    EXPECT_EQ(by_hand.run_all(), 2U);
    EXPECT_FALSE(by_hand.run_one());
    EXPECT_EQ(by_hand.executed(), 3U);
    EXPECT_EQ(t.get(), 3);
}

TEST(manual_executor, calls_a_hook_ahead_of_each_step) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    int steps = 0;
    by_hand.on_step([&] { ++steps; });
    EXPECT_EQ(by_hand.run(yields_twice(env)), 3);
    EXPECT_EQ(steps, 3);
}

TEST(manual_executor, throws_what_the_root_throws) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    EXPECT_THROW(by_hand.run(throws(env)), std::invalid_argument);
}

TEST(manual_executor, ends_a_root_that_waits_for_ever_and_says_so) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    coflux::manual_reset_event never;
    EXPECT_THROW(by_hand.run(waits(env, coflux::borrowed(never))), coflux::testing::stalled_error);
}

}  // namespace
