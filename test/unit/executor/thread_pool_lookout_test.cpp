// A lone coroutine that its worker queues, and then does not come to, is found by a parked worker.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <support/iterations.hpp>

#include "watchdog.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux_test::watchdog;
using clock = std::chrono::steady_clock;
using pool = coflux::thread_pool_executor;

void compute(clock::duration d) {
    for (const auto begin = clock::now(); clock::now() - begin < d;) coflux::detail::cpu_pause();
}

std::uint64_t looks(const pool& p) {
    std::uint64_t all = 0;
    for (const coflux::worker_counters& c : p.counters()) all += c.looks;
    return all;
}

coflux::fork<int, pool> same(auto&&, int x) {
    co_return x;
}
/// Sets the number of looks so far, plus 1.
coflux::fork<void, pool> sets(auto&&, borrowed<pool> p, borrowed<std::atomic<std::uint64_t>> ran) {
    ran->store(looks(*p) + 1);
    co_return;
}

/// Makes forks and takes them back until the look-out has looked `times` times in vain. False if it does not within 20
/// s.
coflux::call<bool> takes_back(coflux::environment& here, borrowed<pool> p, std::uint64_t times) {
    const std::uint64_t before = looks(*p);
    for (const auto begin = clock::now(); clock::now() - begin < 20s;) {
        for (int i = 0; i < 20; ++i) {
            (void)co_await same(here, i);
            compute(2us);
        }
        if (looks(*p) - before >= times) co_return true;
    }
    co_return false;
}

coflux::task<void, pool> leaves_one_after_many(auto&&, borrowed<pool> p, int rounds) {
    auto&& here = co_await coflux::context();
    for (int round = 0; round < rounds; ++round) {
        const bool looked_on = co_await takes_back(here, p, 2);
        if (!looked_on) {
            ADD_FAILURE() << "no worker looked out beside one that makes forks";
            co_return;
        }
        std::atomic<std::uint64_t> ran{0};
        auto left = sets(here, p, borrowed(ran));
        const std::uint64_t before = looks(*p);
        const auto begin = clock::now();
        while (ran.load() == 0 && clock::now() - begin < 20s) coflux::detail::cpu_pause();
        EXPECT_NE(ran.load(), 0U) << "not taken while its maker computed";
        // One of several parked workers may have it and be kept from its processor, while another looks.
        if (p->size() == 2) {
            EXPECT_LE(ran.load(), before + 1 + 3) << "found by one of the next looks";
        }
        co_await std::move(left);
    }
}

TEST(thread_pool_lookout, finds_a_fork_that_its_maker_leaves_after_many_that_it_took_back) {
    const watchdog guard("a lone fork beside a worker that computes");
    for (const std::size_t workers : {2U, 4U}) {
        pool p(workers);
        auto env = coflux::make_environment(p);
        leaves_one_after_many(env, borrowed(p), 20).get();
    }
}

coflux::task<void, pool> computes_beside_one_that_is_ready(auto&&, borrowed<pool> p, borrowed<std::atomic<bool>> ran) {
    auto&& here = co_await coflux::context();
    coflux::manual_reset_event event;
    auto waits = [](auto&&, borrowed<coflux::manual_reset_event> e,
                    borrowed<std::atomic<bool>> set) -> coflux::fork<void, pool> {
        co_await e->wait();
        set->store(true);
    }(here, borrowed(event), ran);
    co_await coflux::yield();
    const bool looked_on = co_await takes_back(here, p, 2);
    EXPECT_TRUE(looked_on);
    event.set();
    for (const auto begin = clock::now(); !ran->load() && clock::now() - begin < 20s;) coflux::detail::cpu_pause();
    EXPECT_TRUE(ran->load()) << "not taken while the one that woke it computed";
    co_await std::move(waits);
}

TEST(thread_pool_lookout, finds_a_coroutine_that_was_woken_by_one_that_computes) {
    const watchdog guard("a lone ready coroutine beside a worker that computes");
    pool p(2);
    auto env = coflux::make_environment(p);
    std::atomic<bool> ran{false};
    computes_beside_one_that_is_ready(env, borrowed(p), borrowed(ran)).get();
}

TEST(thread_pool_lookout, wakes_no_worker_for_forks_that_are_popped_while_it_looks) {
    const watchdog guard("forks that are popped");
    pool p(2);
    auto env = coflux::make_environment(p);
    const auto wakes = [&] { return p.counters()[0].wakes + p.counters()[1].wakes; };
    const auto looks_on = [](auto&&, borrowed<pool> q, auto count,
                             borrowed<std::uint64_t> woken) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        const bool begun = co_await takes_back(here, q, 1);
        const std::uint64_t before = count();
        const bool more = co_await takes_back(here, q, 50);
        *woken = count() - before;
        EXPECT_TRUE(begun && more);
    };
    // Where the machine is busy, the look-out may have had enough between two forks: the best of ten counts.
    std::uint64_t least = 50;
    for (int attempt = 0; attempt < 10 && least > 25; ++attempt) {
        std::uint64_t during = 0;
        looks_on(env, borrowed(p), wakes, borrowed(during)).get();
        least = std::min(least, during);
    }
    EXPECT_LE(least, 25U);
}

coflux::task<void, pool> computes_until(auto&&, borrowed<std::atomic<bool>> over) {
    while (!over->load()) coflux::detail::cpu_pause();
    co_return;
}
coflux::task<void, pool> is_short(auto&&) {
    co_return;
}

TEST(thread_pool_lookout, does_not_begin_anew_with_each_sleep_of_a_worker_beside_one_that_pushes_nothing) {
    const watchdog guard("a worker that sleeps often");
    pool p(2);
    auto env = coflux::make_environment(p);
    std::atomic<bool> over{false};
    const auto computing = computes_until(env, borrowed(over));
    const auto sleeps_often = [&] {
        const std::uint64_t before = looks(p);
        for (int i = 0; i < 20; ++i) {
            is_short(env).join();
            // By the clock: what is asked is that nothing happens. A look-out would look three times.
            std::this_thread::sleep_for(1ms);
        }
        return looks(p) - before;
    };
    (void)sleeps_often();  // it ends
    EXPECT_LE(sleeps_often(), 20U);
    over.store(true);
}

TEST(thread_pool_lookout, ends_when_no_worker_works) {
    const watchdog guard("a pool that parks");
    pool p(2);
    auto env = coflux::make_environment(p);
    const auto work = [](auto&&, borrowed<pool> q) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        const bool looked_on = co_await takes_back(here, q, 1);
        EXPECT_TRUE(looked_on);
    };
    work(env, borrowed(p)).get();
    // By the clock: what is asked is that nothing happens. A look-out that goes on looks thousands of
    // times in 100 ms. On a busy machine it may need some of them to end.
    bool rests = false;
    for (const auto begin = clock::now(); !rests && clock::now() - begin < 20s;) {
        const std::uint64_t before = looks(p);
        std::this_thread::sleep_for(100ms);
        rests = looks(p) == before;
    }
    EXPECT_TRUE(rests);
}

}  // namespace
