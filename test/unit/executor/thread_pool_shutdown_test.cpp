#include <coflux/executor/thread_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include <coflux/coflux.hpp>
#include <support/iterations.hpp>

#include "loose_coroutine.hpp"
#include "watchdog.hpp"

namespace {

using coflux_test::loose;
using coflux_test::watchdog;
using pool = coflux::thread_pool_executor;
using counter = std::atomic<std::size_t>;

TEST(thread_pool_shutdown, runs_what_outsiders_queued) {
    const watchdog guard("the end of a pool with queued work");
    for (const std::size_t workers : {1U, 2U, 4U}) {
        for (int round = 0; round < 20; ++round) {
            counter ran{0};
            {
                pool p(workers);
                for (int i = 0; i < 1000; ++i) p.execute(loose([&] { ++ran; }));
            }
            ASSERT_EQ(ran.load(), 1000U) << workers << " workers";
        }
    }
}

/// Queues two more below it until `depth` is 0.
void spread(pool& p, counter& ran, int depth) {
    ++ran;
    if (depth == 0) return;
    for (int i = 0; i < 2; ++i) p.execute(loose([&p, &ran, depth] { spread(p, ran, depth - 1); }));
}

TEST(thread_pool_shutdown, runs_what_running_work_queues_meanwhile) {
    const watchdog guard("the end of a pool whose work makes more");
    for (const std::size_t workers : {1U, 2U, 4U}) {
        for (int round = 0; round < 20; ++round) {
            counter ran{0};
            std::optional<pool> p(std::in_place, workers);
            p->execute(loose([&, raw = &*p] { spread(*raw, ran, 11); }));
            p.reset();
            ASSERT_EQ(ran.load(), 4095U) << workers << " workers";
        }
    }
}

TEST(thread_pool_shutdown, runs_more_than_a_local_queue_holds) {
    const watchdog guard("the end of a pool with a long local queue");
    for (const std::size_t workers : {1U, 2U}) {
        counter ran{0};
        std::optional<pool> p(std::in_place, workers);
        p->execute(loose([&, raw = &*p] {
            for (int i = 0; i < 5000; ++i) raw->execute(loose([&] { ++ran; }));
        }));
        p.reset();
        EXPECT_EQ(ran.load(), 5000U) << workers << " workers";
    }
}

coflux::fork<void, pool> leaf(auto&&, coflux::borrowed<counter> ran) {
    co_await coflux::yield();
    ++*ran;
}

coflux::task<void, pool> leaves_forks_behind(auto&&, coflux::borrowed<counter> ran, int n) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < n; ++i) leaf(here, ran).attach();
}

TEST(thread_pool_shutdown, completes_what_scopes_own_whose_handles_are_gone) {
    const watchdog guard("the end of a pool with forks left to their scopes");
    for (const std::size_t workers : {1U, 2U}) {
        counter ran{0};
        {
            pool p(workers);
            auto env = coflux::make_environment(p);
            for (int i = 0; i < 50; ++i) {
                auto root = leaves_forks_behind(env, coflux::borrowed(ran), 100);
                // The handle dies here, which joins the root and with it its forks.
            }
        }
        EXPECT_EQ(ran.load(), 5000U);
    }
}

TEST(thread_pool_shutdown, ends_idle_pools_at_once_whether_they_sleep_or_look_for_work) {
    const watchdog guard("pools that come and go");
    const std::size_t rounds = coflux_test::repetitions(8'000) / 8;
    for (std::size_t round = 0; round < rounds; ++round) {
        pool p(coflux::thread_pool_options{.threads = 2, .spin = std::chrono::microseconds(round % 3 * 50)});
        if (round % 2 == 0) continue;
        auto env = coflux::make_environment(p);
        counter ran{0};
        leaves_forks_behind(env, coflux::borrowed(ran), 3).get();
        ASSERT_EQ(ran.load(), 3U);
    }
}

}  // namespace
