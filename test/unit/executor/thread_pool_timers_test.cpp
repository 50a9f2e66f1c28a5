// A pool's workers and time: they look at their timers between rounds, while they look for work, and park no
// longer than until the next deadline.
#include <coflux/executor/thread_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <random>
#include <thread>
#include <vector>

#include <coflux/coflux.hpp>
#include <support/iterations.hpp>
#include <support/witness.hpp>

#include "watchdog.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux_test::flag;
using coflux_test::watchdog;
using clock = std::chrono::steady_clock;
using pool = coflux::thread_pool_executor;

/// Steps of other coroutines before a coroutine whose deadline has passed is served: a round until its worker looks,
/// and what law 8 states for one that is ready.
constexpr std::size_t stated_bound = 61 + 200;
constexpr std::size_t give_up = 1'000'000;

coflux::fork<void, pool> nothing(auto&&) {
    co_return;
}
coflux::fork<void, pool> sets_at(auto&&, clock::time_point when, borrowed<bool> served) {
    co_await coflux::sleep_until(when);
    *served = true;
}

template <bool Forks>
coflux::task<std::size_t, pool> steps_until_a_sleeper_is_served(auto&&) {
    auto&& here = co_await coflux::context();
    bool served = false;
    const auto when = clock::now() + 300us;
    auto sleeper = sets_at(here, when, borrowed(served));
    co_await coflux::yield();
    std::size_t steps = 0;
    for (bool due = false; !served && steps < give_up; steps += due ? 1 : 0) {
        due = due || clock::now() >= when;
        if constexpr (Forks) {
            co_await nothing(here);
        } else {
            co_await coflux::yield();
        }
    }
    co_await std::move(sleeper);
    co_return steps;
}

TEST(thread_pool_timers, serve_a_sleeper_beside_one_that_forks_and_awaits_for_ever) {
    pool p(1);
    auto env = coflux::make_environment(p);
    for (int round = 0; round < 20; ++round) EXPECT_LE(steps_until_a_sleeper_is_served<true>(env).get(), stated_bound);
}

TEST(thread_pool_timers, serve_a_sleeper_beside_one_that_yields_for_ever) {
    pool p(1);
    auto env = coflux::make_environment(p);
    for (int round = 0; round < 20; ++round) EXPECT_LE(steps_until_a_sleeper_is_served<false>(env).get(), stated_bound);
}

coflux::fork<void, pool> sleeps_until(auto&&, clock::time_point when, borrowed<std::atomic<std::size_t>> early) {
    co_await coflux::sleep_until(when);
    if (clock::now() < when) early->fetch_add(1, std::memory_order_relaxed);
}

TEST(thread_pool_timers, wake_all_of_many_and_none_early) {
    const watchdog guard("many sleepers");
    pool p(2);
    auto env = coflux::make_environment(p);
    std::atomic<std::size_t> early{0};
    [](auto&&, borrowed<std::atomic<std::size_t>> count) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        std::mt19937 random(5);
        const auto now = clock::now();
        std::vector<coflux::fork<void, pool>> all;
        for (std::size_t i = 0; i < coflux_test::repetitions(40'000); ++i)
            all.push_back(sleeps_until(here, now + std::chrono::microseconds(1000 + random() % 19'000), count));
        co_await coflux::when_all(std::move(all));
    }(env, borrowed(early))
                                                                .get();
    EXPECT_EQ(early.load(), 0U);
}

TEST(thread_pool_timers, of_sleeping_workers_are_given_up_when_an_outsider_stops_all) {
    const watchdog guard("stop of sleeping workers");
    for (int round = 0; round < 50; ++round) {
        pool p({.threads = 2, .spin = 0ns});
        auto env = coflux::make_environment(p);
        std::atomic<std::size_t> begun{0};
        auto t = [](auto&&, borrowed<std::atomic<std::size_t>> n) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            std::vector<coflux::fork<void, pool>> all;
            for (int i = 0; i < 100; ++i) {
                all.push_back([](auto&&, borrowed<std::atomic<std::size_t>> count) -> coflux::fork<void, pool> {
                    count->fetch_add(1, std::memory_order_release);
                    co_await 10h;
                }(here, n));
            }
            co_await coflux::when_all(std::move(all));
        }(env, borrowed(begun));
        while (begun.load(std::memory_order_acquire) < 100) std::this_thread::yield();
        t.request_stop();
        t.join();
    }
}

/// How often the worker parked beside a coroutine that sleeps until the worker did so ten times, or until it gives up:
/// where the machine is busy, a deadline passes before the worker comes to park.
coflux::task<std::uint64_t, pool> sleeps_of_the_worker(auto&&, borrowed<pool> p, int attempts) {
    const auto before = p->counters()[0].sleeps;
    std::uint64_t sleeps = 0;
    for (int i = 0; i < attempts && sleeps < 10; ++i) {
        co_await 200us;
        sleeps = p->counters()[0].sleeps - before;
    }
    co_return sleeps;
}

TEST(thread_pool_timers, let_the_worker_sleep_unless_timer_spin_keeps_it_awake) {
    {
        pool p({.threads = 1, .spin = 0ns});
        auto env = coflux::make_environment(p);
        EXPECT_GE(sleeps_of_the_worker(env, borrowed(p), 100'000).get(), 10U);
    }
    pool p({.threads = 1, .spin = 0ns, .timer_spin = 1h});
    auto env = coflux::make_environment(p);
    EXPECT_EQ(sleeps_of_the_worker(env, borrowed(p), 10).get(), 0U);
}

}  // namespace
