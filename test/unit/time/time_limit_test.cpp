#include <coflux/time/detail/time_limit.hpp>

#include <cstddef>
#include <thread>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

namespace {

using coflux::detail::executor_entry;
using coflux::detail::this_thread;
using coflux::detail::tick_now;
using coflux::detail::time_limit;
using coflux::detail::timer_queue;

constexpr std::uint64_t hour = 3'600'000'000'000;

/// A queue of the test's own thread for an executor that only has an identity.
struct mine {
    const executor_entry executor{nullptr, this, nullptr, nullptr};
    timer_queue queue;

    mine() {
        this_thread.timers = &queue;
        this_thread.executor = this;
    }
    ~mine() {
        this_thread.timers = nullptr;
        this_thread.executor = nullptr;
    }
};

TEST(time_limit, requests_a_stop_when_its_time_comes_and_not_before) {
    mine m;
    auto env = coflux::make_environment(coflux::noop_executor{});
    const auto when = m.queue.now() + 100;
    time_limit* const limit = time_limit::arm(env, when, &m.executor);
    m.queue.look(when - 1);
    EXPECT_FALSE(env.stop_requested());
    m.queue.look(when);
    EXPECT_TRUE(env.stop_requested());
    limit->cancel();
}

TEST(time_limit, does_nothing_once_it_is_cancelled) {
    mine m;
    auto env = coflux::make_environment(coflux::noop_executor{});
    const auto when = m.queue.now() + 100;
    time_limit::arm(env, when, &m.executor)->cancel();
    EXPECT_TRUE(m.queue.nothing_to_look_at());
    m.queue.look(when);
    EXPECT_FALSE(env.stop_requested());
}

TEST(time_limit, leaves_its_queue_at_once_when_it_is_cancelled_on_another_thread) {
    mine m;
    auto env = coflux::make_environment(coflux::noop_executor{});
    const auto when = m.queue.now() + 100;
    time_limit* const limit = time_limit::arm(env, when, &m.executor);
    std::thread([limit] { limit->cancel(); }).join();
    EXPECT_TRUE(m.queue.nothing_to_look_at());
    m.queue.look(when);
    EXPECT_FALSE(env.stop_requested());
}

TEST(time_limit, acts_on_the_thread_that_looks_for_the_owner) {
    mine m;
    auto env = coflux::make_environment(coflux::noop_executor{});
    const auto when = m.queue.now() + 100;
    time_limit* const limit = time_limit::arm(env, when, &m.executor);
    std::thread([&] { EXPECT_EQ(m.queue.look_for_owner(when), 1U); }).join();
    EXPECT_TRUE(env.stop_requested());
    limit->cancel();
}

TEST(time_limit, is_kept_by_the_service_where_no_executor_is) {
    auto env = coflux::make_environment(coflux::noop_executor{});
    time_limit::arm(env, tick_now() + hour, nullptr)->cancel();
    EXPECT_FALSE(env.stop_requested());
    time_limit* const limit = time_limit::arm(env, tick_now() + 1000, nullptr);
    while (!env.stop_requested()) std::this_thread::yield();
    limit->cancel();
}

}  // namespace
