#include <coflux/executor/thread_pool.hpp>

#include <gtest/gtest.h>

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include "../../../src/os/thread/thread.hpp"
#include "loose_coroutine.hpp"
#include "watchdog.hpp"

namespace {

using coflux_test::loose;
using coflux_test::thread_here;
using coflux_test::watchdog;
using pool = coflux::thread_pool_executor;
using options = coflux::thread_pool_options;

/// Runs `f` once on each of `workers` threads of `p` at the same time, and waits for all.
template <typename F>
void on_every_worker(pool& p, std::size_t workers, F f) {
    const watchdog guard("work for every worker of a pool");
    std::latch all_here(static_cast<std::ptrdiff_t>(workers));
    std::atomic<std::size_t> left{workers};
    for (std::size_t i = 0; i < workers; ++i) {
        p.execute(loose([&] {
            all_here.arrive_and_wait();  // so that no worker takes two
            f();
            left.fetch_sub(1, std::memory_order_release);
        }));
    }
    while (left.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

std::string name_of_thread() {
    char name[16];
    pthread_getname_np(pthread_self(), name, sizeof name);
    return name;
}

/// Number of the process's threads whose name begins so.
std::size_t threads_named(const std::string& prefix) {
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(entry.path() / "comm"), name);
        if (name.starts_with(prefix)) ++found;
    }
    return found;
}

std::size_t processors_of_thread() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return static_cast<std::size_t>(CPU_COUNT(&set));
}

TEST(thread_pool, has_exactly_the_threads_it_was_asked_for) {
    for (const std::size_t n : {1U, 2U, 3U, 5U}) {
        const std::string name = "exact" + std::to_string(n);
        pool p(options{.threads = n, .name = name});
        EXPECT_EQ(p.size(), n);
        EXPECT_EQ(p.counters().size(), n);
        std::mutex lock;
        std::set<std::thread::id> ids;
        on_every_worker(p, n, [&] {
            const std::lock_guard<std::mutex> guard(lock);
            ids.insert(std::this_thread::get_id());
        });
        EXPECT_EQ(ids.size(), n);
        EXPECT_EQ(threads_named(name + "-"), n);
    }
}

TEST(thread_pool, has_a_thread_for_each_usable_processor_unless_told_otherwise) {
    EXPECT_EQ(pool().size(), processors_of_thread());
    EXPECT_EQ(pool(options{}).size(), processors_of_thread());
}

TEST(thread_pool, names_its_threads_and_cuts_what_the_system_cannot_hold) {
    std::mutex lock;
    std::set<std::string> names;
    const auto collect = [&] {
        const std::lock_guard<std::mutex> guard(lock);
        names.insert(name_of_thread());
    };
    pool two(options{.threads = 2, .name = "mill"});
    on_every_worker(two, 2, collect);
    EXPECT_EQ(names, (std::set<std::string>{"mill-0", "mill-1"}));
    names.clear();
    pool one(options{.threads = 1, .name = "a_name_of_20_letters"});
    on_every_worker(one, 1, collect);
    EXPECT_EQ(names, std::set<std::string>{"a_name_of_20_le"});
}

TEST(thread_pool, pins_each_worker_to_a_processor_of_its_own_only_when_asked) {
    const std::size_t usable = processors_of_thread();
    std::mutex lock;
    std::vector<std::size_t> counts;
    std::set<int> processors;
    const auto look = [&] {
        const std::size_t count = processors_of_thread();
        const int at = sched_getcpu();
        const std::lock_guard<std::mutex> guard(lock);
        counts.push_back(count);
        processors.insert(at);
    };
    const std::size_t n = std::min<std::size_t>(usable, 2);
    pool pinned(options{.threads = n, .pin = true});
    on_every_worker(pinned, n, look);
    EXPECT_EQ(counts, std::vector<std::size_t>(n, 1));
    EXPECT_EQ(processors.size(), n);
    counts.clear();
    pool free(options{.threads = 2});
    on_every_worker(free, 2, look);
    EXPECT_EQ(counts, std::vector<std::size_t>(2, usable));
}

TEST(thread_pool, pins_its_workers_in_the_order_of_the_topology) {
    std::mutex lock;
    std::map<std::string, unsigned> processors;
    const std::size_t n = std::min<std::size_t>(processors_of_thread(), 2);
    pool pinned(options{.threads = n, .name = "bound", .pin = true});
    on_every_worker(pinned, n, [&] {
        const std::lock_guard<std::mutex> guard(lock);
        processors[name_of_thread()] = static_cast<unsigned>(sched_getcpu());
    });
    const auto order = coflux::topology::read().binding_order();
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(processors["bound-" + std::to_string(i)], order[i]);
}

// A thread that may use fewer processors than the process makes a pool for those.
TEST(thread_pool, pins_its_workers_where_the_thread_that_makes_it_may_run) {
    const coflux::topology& all = coflux::topology::of_this_process();
    const unsigned last = all.processors().back().number;
    std::thread([&] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(last, &one);
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        pool pinned(options{.threads = 1, .pin = true});
        std::atomic<int> at{-1};
        on_every_worker(pinned, 1, [&] { at = sched_getcpu(); });
        EXPECT_EQ(at.load(), static_cast<int>(last));
    }).join();
}

TEST(thread_pool, accepts_more_pinned_workers_than_processors) {
    const std::size_t n = processors_of_thread() + 1;
    pool p(options{.threads = n, .pin = true});
    std::atomic<std::size_t> pinned{0};
    on_every_worker(p, n, [&] { pinned += processors_of_thread() == 1 ? 1 : 0; });
    EXPECT_EQ(pinned.load(), n);
}

coflux::task<int, pool> answer(auto&&, int x) {
    co_return x;
}
coflux::fork<int, pool> part(auto&&, int x) {
    co_return x;
}
coflux::task<int, pool> forks(auto&&, int n) {
    auto&& here = co_await coflux::context();
    int sum = 0;
    for (int i = 1; i <= n; ++i) {
        auto f = part(here, i);
        co_await coflux::yield();
        sum += co_await std::move(f);
    }
    co_return sum;
}

TEST(thread_pool, may_be_owned_by_its_environment) {
    auto env = coflux::make_environment(pool(2));
    EXPECT_EQ(forks(env, 100).get(), 5050);
    EXPECT_EQ(answer(env, 3).get(), 3);
}

TEST(thread_pool, is_the_same_pool_after_a_move) {
    pool first(1);
    const void* const identity = first.identity();
    pool second(std::move(first));
    EXPECT_EQ(second.identity(), identity);
    EXPECT_EQ(second.size(), 1U);
    auto env = coflux::make_environment(second);
    EXPECT_EQ(forks(env, 10).get(), 55);
}

TEST(thread_pool, is_not_disturbed_by_a_move_while_it_runs) {
    std::atomic<int> ran{0};
    std::atomic<bool> go{false};
    {
        pool first(1);
        for (int i = 0; i < 1000; ++i) {
            first.execute(loose([&] {
                while (!go) std::this_thread::yield();
                ++ran;
            }));
        }
        pool second(std::move(first));
        go = true;
        second.execute(loose([&] { ++ran; }));
    }
    EXPECT_EQ(ran.load(), 1001);
}

TEST(thread_pool, runs_what_is_queued_before_another_pool_is_moved_into_it) {
    std::atomic<int> ran{0};
    pool target(1);
    for (int i = 0; i < 1000; ++i) target.execute(loose([&] { ++ran; }));
    pool source(2);
    const void* const identity = source.identity();
    target = std::move(source);
    EXPECT_EQ(ran.load(), 1000);
    EXPECT_EQ(target.identity(), identity);
    EXPECT_EQ(target.size(), 2U);
    auto env = coflux::make_environment(target);
    EXPECT_EQ(answer(env, 4).get(), 4);
}

TEST(thread_pool, works_with_any_spin) {
    const watchdog guard("pools with extreme spins");
    for (const std::chrono::nanoseconds spin :
         {std::chrono::nanoseconds(0), std::chrono::nanoseconds(std::chrono::hours(1))}) {
        pool p(options{.threads = 2, .spin = spin});
        auto env = coflux::make_environment(p);
        for (int i = 0; i < 200; ++i) ASSERT_EQ(forks(env, 3).get(), 6);
    }
}

TEST(thread_pool, sleeps_at_once_without_spin_and_not_at_all_within_it) {
    const watchdog guard("workers that go to sleep");
    pool drowsy(options{.threads = 2, .spin = std::chrono::nanoseconds(0)});
    const auto asleep = [](const pool& p) {
        const auto all = p.counters();
        return std::count_if(all.begin(), all.end(), [](const auto& c) { return c.sleeps != 0; });
    };
    while (asleep(drowsy) != 2) std::this_thread::yield();
    pool awake(options{.threads = 2, .spin = std::chrono::hours(1)});
    auto env = coflux::make_environment(awake);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(answer(env, i).get(), i);
    // On one processor a worker that looks would keep off the thread that brings work.
    if (coflux::detail::os::usable_processors() > 1) {
        EXPECT_EQ(asleep(awake), 0);
    }
}

TEST(thread_pool, counts_what_it_takes_from_its_queues) {
    const watchdog guard("a pool of one");
    pool p(1);
    std::atomic<int> left{100};
    for (int i = 0; i < 100; ++i) p.execute(loose([&] { --left; }));
    while (left != 0) std::this_thread::yield();
    const coflux::worker_counters after = p.counters().front();
    EXPECT_EQ(after.resumed, 100U);
    EXPECT_EQ(after.injected, 100U);
    EXPECT_EQ(after.stolen, 0U);
    EXPECT_EQ(after.wakes, 0U);
}

void destroy_on_own_thread() {
    auto p = std::make_unique<pool>(1);
    std::atomic<bool> never{false};
    p->execute(loose([&] { p.reset(); }));
    never.wait(false);
}

TEST(thread_pool_death_test, is_not_destroyed_on_one_of_its_own_threads) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(destroy_on_own_thread(), "a thread pool is destroyed on one of its own threads");
}

TEST(thread_pool_death_test, refuses_more_threads_than_it_can_count) {
    EXPECT_DEATH(pool(100'000), "a thread pool of 100000 threads");
}

}  // namespace
