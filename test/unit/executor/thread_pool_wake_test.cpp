// No wake-up is lost between threads that queue work and workers that park.
#include <coflux/executor/thread_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include <coflux/coflux.hpp>
#include <support/iterations.hpp>

#include "loose_coroutine.hpp"
#include "watchdog.hpp"

namespace {

using coflux_test::loose;
using coflux_test::watchdog;
using pool = coflux::thread_pool_executor;

void stand_by(std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) coflux::detail::cpu_pause();
}

/// Mostly shorter than a worker's way to park, now and then longer.
void random_gap(std::mt19937& random) {
    const std::uint32_t bits = random();
    stand_by(bits % 8 == 0 ? bits >> 8 & 2047 : bits >> 8 & 63);
}

/// Waits without sleeping, so that the next round begins at a moment of the worker's that the gaps determine.
void wait_for(const std::atomic<std::size_t>& done, std::size_t wanted) {
    for (std::size_t looks = 1; done.load(std::memory_order_acquire) < wanted; ++looks) {
        if (looks % 64 == 0) std::this_thread::yield();
        coflux::detail::cpu_pause();
    }
}

/// One outsider queues `rounds` coroutines one by one, each after the last has run.
void queue_one_by_one(pool& p, std::size_t rounds, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::atomic<std::size_t> done{0};
    for (std::size_t round = 0; round < rounds; ++round) {
        p.execute(loose([&] { done.fetch_add(1, std::memory_order_release); }));
        wait_for(done, round + 1);
        random_gap(random);
    }
}

TEST(thread_pool_wake, reaches_the_worker_of_a_pool_of_one) {
    const watchdog guard("a round with a pool of one");
    pool p(coflux::thread_pool_options{.threads = 1, .spin = std::chrono::microseconds(2)});
    queue_one_by_one(p, coflux_test::race_rounds, 1);
    EXPECT_EQ(p.counters()[0].injected, coflux_test::race_rounds);
}

TEST(thread_pool_wake, reaches_workers_that_sleep_at_once) {
    const watchdog guard("a round with a pool that does not spin");
    pool p(coflux::thread_pool_options{.threads = 2, .spin = std::chrono::nanoseconds(0)});
    queue_one_by_one(p, coflux_test::race_rounds, 2);
    EXPECT_GE(p.counters()[0].sleeps + p.counters()[1].sleeps, coflux_test::race_rounds / 100);
}

TEST(thread_pool_wake, reaches_workers_from_two_outsiders) {
    const watchdog guard("a round with two outsiders");
    pool p(coflux::thread_pool_options{.threads = 2, .spin = std::chrono::microseconds(2)});
    std::thread other([&] { queue_one_by_one(p, coflux_test::race_rounds / 2, 3); });
    queue_one_by_one(p, coflux_test::race_rounds / 2, 4);
    other.join();
}

TEST(thread_pool_wake, brings_a_second_worker_to_what_comes_while_the_first_looks_for_work) {
    const watchdog guard("two coroutines that wait for each other");
    // Before the pool, so that they outlive its threads: the last coroutines still look at them when the test is
    // through.
    std::atomic<std::size_t> done{0};
    std::atomic<std::size_t> arrived{0};
    pool p(coflux::thread_pool_options{.threads = 2, .spin = std::chrono::microseconds(200)});
    for (std::size_t round = 1; round <= 5; ++round) {
        // Long enough for both workers to park without a limit. One is then woken, and looks for more when it is done.
        stand_by(1'000'000);
        p.execute(loose([&] { done.fetch_add(1, std::memory_order_release); }));
        wait_for(done, round);
        stand_by(1'000);
        for (int i = 0; i < 2; ++i) {
            p.execute(loose([&, round] {
                arrived.fetch_add(1, std::memory_order_release);
                wait_for(arrived, 2 * round);
            }));
        }
        wait_for(arrived, 2 * round);
    }
}

coflux::fork<void, pool> hold(auto&&, coflux::borrowed<std::atomic<std::size_t>> arrived, std::size_t wanted) {
    arrived->fetch_add(1, std::memory_order_release);
    wait_for(*arrived, wanted);
    co_return;
}

coflux::task<void, pool> needs_both_workers(auto&&, std::uint32_t seed) {
    auto&& here = co_await coflux::context();
    std::mt19937 random(seed);
    std::atomic<std::size_t> arrived{0};
    const std::size_t rounds = coflux_test::race_rounds / 10;
    for (std::size_t round = 1; round <= rounds; ++round) {
        auto a = hold(here, coflux::borrowed(arrived), 2 * round);
        auto b = hold(here, coflux::borrowed(arrived), 2 * round);
        co_await coflux::when_all(std::move(a), std::move(b));
        random_gap(random);
    }
}

TEST(thread_pool_wake, brings_a_second_worker_to_forks_that_need_two) {
    // A worker that pushes uses no fence and may miss a sleeper, which then looks again within its watch period: slow
    // would be right, never is wrong.
    const watchdog guard("two forks that wait for each other");
    pool p(coflux::thread_pool_options{.threads = 2, .spin = std::chrono::microseconds(5)});
    auto env = coflux::make_environment(p);
    needs_both_workers(env, 5).get();
}

}  // namespace
