// A coroutine that an outsider queues may run, end and let its owner destroy the pool while the outsider is still
// inside execute().
#include <coflux/executor/thread_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <thread>
#include <utility>

#include <coflux/coflux.hpp>

#include "loose_coroutine.hpp"
#include "watchdog.hpp"

namespace {

using coflux_test::loose;
using coflux_test::watchdog;
using pool = coflux::thread_pool_executor;

// Each round starts and ends threads, and a new thread waits for a processor where all are busy: few rounds, in every
// build as many, because it is a sanitizer that would see a late access.
constexpr std::size_t rounds = 300;

coflux::fork<std::size_t, coflux::nth<pool, 1>> on_the_lasting_pool(coflux::environment&, std::size_t x) {
    co_return x;
}

coflux::task<std::size_t, coflux::nth<pool, 0>> on_the_short_lived_pool(coflux::environment&, std::size_t x) {
    auto&& here = co_await coflux::context();
    auto child = on_the_lasting_pool(here, x);
    co_return co_await std::move(child);
}

TEST(thread_pool_outsiders, may_be_workers_of_a_pool_whose_child_ends_the_last_root_of_this_one) {
    const watchdog guard("short-lived pools whose roots are resumed from another pool");
    pool lasting(1);
    for (std::size_t round = 0; round < rounds; ++round) {
        pool short_lived(1 + round % 2);
        auto env = coflux::make_environment(short_lived, lasting);
        ASSERT_EQ(on_the_short_lived_pool(env, round).get(), round);
    }
}

TEST(thread_pool_outsiders, may_be_any_thread_whose_coroutine_is_the_last_of_the_pool) {
    const watchdog guard("short-lived pools with work from a thread");
    std::atomic<pool*> offered{nullptr};
    std::atomic<std::size_t> ran{0};
    std::thread outsider([&] {
        for (std::size_t round = 0; round < rounds; ++round) {
            offered.wait(nullptr, std::memory_order_acquire);
            pool* const p = offered.exchange(nullptr, std::memory_order_acq_rel);
            p->execute(loose([&ran] {
                ran.fetch_add(1, std::memory_order_release);
                ran.notify_one();
            }));
        }
    });
    for (std::size_t round = 1; round <= rounds; ++round) {
        std::optional<pool> p(std::in_place, 1 + round % 2);
        offered.store(&*p, std::memory_order_release);
        offered.notify_one();
        ran.wait(round - 1, std::memory_order_acquire);
        p.reset();
    }
    outsider.join();
    EXPECT_EQ(ran.load(), rounds);
}

}  // namespace
