// More workers than processors: those that have no processor leave the others' work alone, unless those block.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <support/cpu_clock.hpp>
#include <support/iterations.hpp>

#include "watchdog.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux_test::watchdog;
using clock = std::chrono::steady_clock;
using pool = coflux::thread_pool_executor;

coflux::fork<std::uint64_t, pool> itself(auto&&, std::uint64_t x) {
    co_return x;
}

coflux::task<std::uint64_t, pool> sum_of_forks(auto&&, std::uint64_t count) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::uint64_t, pool>> forks;
    forks.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) forks.push_back(itself(here, i));
    std::uint64_t sum = 0;
    for (auto& f : forks) sum += co_await std::move(f);
    co_return sum;
}

std::uint64_t all_of(const pool& p, std::uint64_t coflux::worker_counters::* counter) {
    std::uint64_t all = 0;
    for (const coflux::worker_counters& c : p.counters()) all += c.*counter;
    return all;
}

TEST(thread_pool_crowded, leaves_trivial_forks_to_their_maker) {
    const watchdog guard("a pool of 64 workers");
    constexpr std::uint64_t workers = 64, rounds = 20;
    constexpr std::uint64_t forks = coflux_test::repetitions(20'000);
    pool p(workers);
    while (all_of(p, &coflux::worker_counters::sleeps) < workers) std::this_thread::yield();
    auto env = coflux::make_environment(p);
    std::uint64_t all = 0;
    for (std::uint64_t i = 0; i < rounds; ++i) all += sum_of_forks(env, forks).get();
    EXPECT_EQ(all, rounds * (forks * (forks - 1) / 2));
    // Elsewhere a fork takes so long that a theft is worth it.
    if constexpr (coflux_test::optimized && !coflux_test::sanitized) {
        EXPECT_LT(all_of(p, &coflux::worker_counters::stolen), rounds * forks / 8);
    }
}

coflux::fork<void, pool> arrives(auto&&, borrowed<std::latch> all) {
    all->count_down();
    co_return;
}

/// Leaves a fork in its queue and blocks its worker until all have been taken.
coflux::fork<bool, pool> blocks(auto&&, borrowed<std::latch> all) {
    auto&& here = co_await coflux::context();
    auto left = arrives(here, all);
    const auto begin = clock::now();
    while (!all->try_wait() && clock::now() - begin < 20s) std::this_thread::sleep_for(1ms);
    const bool taken = all->try_wait();
    co_await std::move(left);
    co_return taken;
}

coflux::task<bool, pool> blocks_all_processors(auto&&, std::size_t processors) {
    auto&& here = co_await coflux::context();
    std::latch all(static_cast<std::ptrdiff_t>(processors));
    std::vector<coflux::fork<bool, pool>> forks;
    for (std::size_t i = 0; i < processors; ++i) forks.push_back(blocks(here, borrowed(all)));
    bool taken = true;
    for (auto& f : forks) taken = (co_await std::move(f)) && taken;
    co_return taken;
}

TEST(thread_pool_crowded, takes_the_forks_of_workers_that_block) {
    const watchdog guard("workers that block");
    const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
    pool p(processors + 2);
    auto env = coflux::make_environment(p);
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(blocks_all_processors(env, processors).get());
}

coflux::task<void, pool> waits_for_all(auto&&, borrowed<std::latch> all) {
    all->arrive_and_wait();
    co_return;
}

/// Who pushes sees that a worker looks for work, and wakes none. That worker may have found what blocks just before.
TEST(thread_pool_crowded, begins_all_that_comes_from_outside_though_each_blocks) {
    const watchdog guard("tasks that block");
    constexpr std::uint64_t rounds = coflux_test::repetitions(3'000);
    constexpr std::uint64_t tasks = 6;
    pool p(16);
    auto env = coflux::make_environment(p);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        std::latch all(tasks);
        std::vector<coflux::task<void, pool>> begun;
        for (std::uint64_t i = 0; i < tasks; ++i) {
            begun.push_back(waits_for_all(env, borrowed(all)));
            const auto until = clock::now() + std::chrono::nanoseconds(round * (i + 7) % 97 * 100);
            while (clock::now() < until) {}
        }
        for (auto& each : begun) std::move(each).join();
    }
}

/// How often workers look for work, and sleep again, while one computes.
coflux::task<std::size_t, pool> looks_beside(auto&&, std::chrono::milliseconds time) {
    const std::size_t before = coflux_test::voluntary_switches();
    for (const auto end = clock::now() + time; clock::now() < end;) {}
    co_return coflux_test::voluntary_switches() - before;
}

TEST(thread_pool_crowded, of_a_thousand_sleepers_few_look_for_work_at_a_time) {
    const watchdog guard("a pool of 1000 workers");
    constexpr std::uint64_t workers = 1'000;
    pool p(workers);
    while (all_of(p, &coflux::worker_counters::sleeps) < workers) std::this_thread::yield();
    auto env = coflux::make_environment(p);
    // With a look of each in 10 ms there would be 30 000.
    EXPECT_LT(looks_beside(env, 300ms).get(), 5'000U);
}

}  // namespace
