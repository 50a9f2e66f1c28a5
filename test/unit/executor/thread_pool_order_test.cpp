#include <coflux/executor/thread_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <support/witness.hpp>

#include "loose_coroutine.hpp"
#include "watchdog.hpp"

namespace {

using coflux::borrowed;
using coflux_test::flag;
using coflux_test::loose;
using coflux_test::thread_here;
using coflux_test::watchdog;
using pool = coflux::thread_pool_executor;
using numbers = std::vector<int>;

coflux::fork<void, pool> note(auto&&, borrowed<numbers> log, int n) {
    log->push_back(n);
    co_return;
}

coflux::task<void, pool> awaits_youngest_first(auto&&, borrowed<numbers> log, borrowed<pool> p) {
    auto&& here = co_await coflux::context();
    const std::uint64_t resumed = p->counters().front().resumed;
    auto a = note(here, log, 0);
    auto b = note(here, log, 1);
    auto c = note(here, log, 2);
    log->push_back(10);
    co_await std::move(c);
    log->push_back(11);
    co_await std::move(b);
    log->push_back(12);
    co_await std::move(a);
    EXPECT_EQ(p->counters().front().resumed, resumed) << "an await went through the loop";
}

TEST(thread_pool_order, runs_the_youngest_fork_in_place_when_it_is_awaited) {
    pool p(1);
    auto env = coflux::make_environment(p);
    numbers log;
    awaits_youngest_first(env, borrowed(log), borrowed(p)).get();
    EXPECT_EQ(log, (numbers{10, 2, 11, 1, 12, 0}));
}

coflux::task<void, pool> awaits_oldest_first(auto&&, borrowed<numbers> log) {
    auto&& here = co_await coflux::context();
    auto a = note(here, log, 0);
    auto b = note(here, log, 1);
    auto c = note(here, log, 2);
    co_await std::move(a);
    log->push_back(10);
    co_await std::move(b);
    co_await std::move(c);
}

TEST(thread_pool_order, runs_the_youngest_first_when_an_older_fork_is_awaited) {
    pool p(1);
    auto env = coflux::make_environment(p);
    numbers log;
    awaits_oldest_first(env, borrowed(log)).get();
    EXPECT_EQ(log, (numbers{2, 1, 0, 10}));
}

coflux::task<void, pool> attaches(auto&&, borrowed<numbers> log) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 4; ++i) note(here, log, i).attach();
}

TEST(thread_pool_order, runs_the_youngest_of_the_forks_left_to_the_scope_first) {
    pool p(1);
    auto env = coflux::make_environment(p);
    numbers log;
    attaches(env, borrowed(log)).get();
    EXPECT_EQ(log, (numbers{3, 2, 1, 0}));
}

coflux::fork<void, pool> takes_turns(auto&&, borrowed<numbers> log, int self, int turns) {
    for (int i = 0; i < turns; ++i) {
        log->push_back(self);
        co_await coflux::yield();
    }
}

coflux::task<void, pool> lets_take_turns(auto&&, borrowed<numbers> log, int turns) {
    auto&& here = co_await coflux::context();
    for (int self = 0; self < 4; ++self) takes_turns(here, log, self, turns).attach();
    co_return;
}

TEST(thread_pool_order, resumes_the_ready_in_the_order_in_which_they_became_ready) {
    pool p(1);
    auto env = coflux::make_environment(p);
    numbers log;
    constexpr int turns = 500;  // many rounds of the loop
    lets_take_turns(env, borrowed(log), turns).get();
    ASSERT_EQ(log.size(), 4U * turns);
    for (std::size_t i = 4; i < log.size(); ++i) ASSERT_EQ(log[i], log[i - 4]) << "at " << i;
}

TEST(thread_pool_order, runs_what_one_of_its_own_threads_executes_first_in_first_out) {
    const watchdog guard("1000 coroutines executed by a worker");
    pool p(1);
    numbers log;
    flag done;
    p.execute(loose([&] {
        for (int i = 0; i < 200; ++i) p.execute(loose([&log, i] { log.push_back(i); }));
        p.execute(loose([&] { done.set(); }));
        log.push_back(-1);  // nothing of the above runs inside execute()
    }));
    done.wait();
    numbers expected(201);
    std::iota(expected.begin(), expected.end(), -1);
    EXPECT_EQ(log, expected);
}

TEST(thread_pool_order, loses_nothing_when_a_worker_executes_more_than_its_queue_holds) {
    const watchdog guard("10000 coroutines executed by a worker");
    pool p(1);
    std::vector<int> seen(10'000);
    std::atomic<std::size_t> left{seen.size()};
    p.execute(loose([&] {
        for (int& times : seen) {
            p.execute(loose([&] {
                ++times;
                left.fetch_sub(1, std::memory_order_release);
            }));
        }
    }));
    while (left.load(std::memory_order_acquire) != 0) std::this_thread::yield();
    EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST(thread_pool_order, serves_outsiders_first_in_first_out) {
    const watchdog guard("1000 coroutines from outside");
    pool p(1);
    numbers log;
    flag all_queued;
    flag done;
    p.execute(loose([&] { all_queued.wait(); }));
    for (int i = 0; i < 1000; ++i) p.execute(loose([&log, i] { log.push_back(i); }));
    p.execute(loose([&] { done.set(); }));
    all_queued.set();
    done.wait();
    numbers expected(1000);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(log, expected);
}

TEST(thread_pool_order, leaves_what_comes_from_outside_to_a_worker_that_has_time) {
    const watchdog guard("jobs from outside, of which the first waits for the others");
    pool p(2);
    for (int round = 0; round < 50; ++round) {
        flag done;
        std::atomic<bool> all_queued{false};
        std::atomic<int> left{102};
        for (int i = 0; i < 2; ++i) {
            p.execute(loose([&] {
                while (!all_queued) std::this_thread::yield();
                --left;
            }));
        }
        p.execute(loose([&] {
            while (left != 0) std::this_thread::yield();
            done.set();
        }));
        for (int i = 0; i < 100; ++i) p.execute(loose([&] { --left; }));
        all_queued = true;
        done.wait();
    }
    std::uint64_t injected = 0;
    for (const coflux::worker_counters& c : p.counters()) injected += c.injected;
    EXPECT_EQ(injected, 50U * 103U);
}

std::uint64_t stolen_by_all(const pool& p) {
    std::uint64_t sum = 0;
    for (const coflux::worker_counters& c : p.counters()) sum += c.stolen;
    return sum;
}

struct theft {
    numbers log;  // written by the thief only
    std::thread::id thief;
    std::atomic<int> left{3};
};

coflux::fork<void, pool> to_be_stolen(auto&&, borrowed<theft> t, int n) {
    t->log.push_back(n);
    t->thief = thread_here();
    t->left.fetch_sub(1, std::memory_order_release);
    co_return;
}

coflux::task<std::thread::id, pool> holds_its_worker(auto&&, borrowed<theft> t) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 3; ++i) to_be_stolen(here, t, i).attach();
    // No suspension: only another worker can run the forks.
    while (t->left.load(std::memory_order_acquire) != 0) std::this_thread::yield();
    co_return thread_here();
}

TEST(thread_pool_order, lets_another_worker_steal_the_oldest_fork_first) {
    const watchdog guard("forks that only a thief can run");
    pool p(2);
    auto env = coflux::make_environment(p);
    for (int round = 0; round < 50; ++round) {
        theft t;
        const std::uint64_t stolen = stolen_by_all(p);
        const std::thread::id owner = holds_its_worker(env, borrowed(t)).get();
        EXPECT_NE(t.thief, owner);
        EXPECT_EQ(t.log, (numbers{0, 1, 2}));
        EXPECT_GE(stolen_by_all(p), stolen + 3);
    }
}

TEST(thread_pool_order, lets_another_worker_take_what_is_ready) {
    const watchdog guard("ready coroutines that only a thief can run");
    pool p(2);
    for (int round = 0; round < 50; ++round) {
        std::atomic<int> left{3};
        std::latch end(1);
        p.execute(loose([&] {
            for (int i = 0; i < 3; ++i) p.execute(loose([&] { left.fetch_sub(1, std::memory_order_release); }));
            while (left.load(std::memory_order_acquire) != 0) std::this_thread::yield();
            end.count_down();
        }));
        end.wait();
    }
    EXPECT_GE(stolen_by_all(p), 150U);
}

coflux::fork<std::uint64_t, pool> tree(coflux::environment&, int depth) {
    if (depth == 0) co_return 1;
    auto&& here = co_await coflux::context();
    auto left = tree(here, depth - 1);
    auto right = tree(here, depth - 1);
    auto [a, b] = co_await coflux::when_all(std::move(left), std::move(right));
    co_return a + b;
}

coflux::task<std::uint64_t, pool> whole_tree(auto&&, int depth) {
    auto&& here = co_await coflux::context();
    co_return co_await tree(here, depth);
}

TEST(thread_pool_order, runs_every_fork_of_a_tree_once_whichever_worker_steals) {
    const watchdog guard("trees of forks");
    for (const std::size_t workers : {1U, 2U, 4U}) {
        pool p(workers);
        auto env = coflux::make_environment(p);
        for (int round = 0; round < 10; ++round) ASSERT_EQ(whole_tree(env, 12).get(), 4096U);
    }
}

}  // namespace
