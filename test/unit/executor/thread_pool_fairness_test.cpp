// Law 8: every ready coroutine runs within a stated bound of steps, whatever the others do.
#include <coflux/executor/thread_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include "loose_coroutine.hpp"

namespace {

using coflux::borrowed;
using coflux_test::loose;
using pool = coflux::thread_pool_executor;

/// What thread_pool.hpp states: resumptions of each coroutine ahead in the queue before one that is ready is served.
constexpr std::size_t stated_bound = 200;
/// Where a test gives up: a failure instead of a hang.
constexpr std::size_t give_up = 100'000;

coflux::fork<void, pool> nothing(auto&&) { co_return; }

/// Queues `f` on `p` as a thread that does not belong to it does, and returns when it is queued.
template <typename F>
void inject(pool& p, F f) {
    std::thread([&] { p.execute(loose(std::move(f))); }).join();
}

// All runs on a pool of one worker, so that plain counters of steps suffice.

coflux::task<std::size_t, pool> forks_for_ever(auto&&, borrowed<const bool> enough, borrowed<std::size_t> steps) {
    auto&& here = co_await coflux::context();
    while (!*enough && *steps < give_up) {
        co_await nothing(here);
        ++*steps;
    }
    co_return *steps;
}

coflux::task<std::size_t, pool> forks_until_served(auto&&, borrowed<pool> p, std::size_t wait) {
    auto&& here = co_await coflux::context();
    for (std::size_t i = 0; i < wait; ++i) co_await nothing(here);
    bool served = false;
    inject(*p, [&] { served = true; });
    std::size_t steps = 0;
    for (; !served && steps < give_up; ++steps) co_await nothing(here);
    co_return steps;
}

TEST(thread_pool_fairness, serves_outsiders_beside_a_coroutine_that_forks_and_awaits_for_ever) {
    pool p(1);
    auto env = coflux::make_environment(p);
    for (std::size_t wait = 0; wait < 300; wait += 7)
        EXPECT_LE(forks_until_served(env, borrowed(p), wait).get(), stated_bound) << "after " << wait << " forks";
}

coflux::fork<void, pool> yields(auto&&, borrowed<const bool> enough, borrowed<std::size_t> steps,
                                borrowed<std::vector<std::size_t>> seen) {
    while (!*enough) {
        seen->push_back(*steps);
        co_await coflux::yield();
    }
}

coflux::task<void, pool> forks_beside_a_yielder(auto&&, borrowed<std::vector<std::size_t>> seen) {
    auto&& here = co_await coflux::context();
    bool enough = false;
    std::size_t steps = 0;
    auto yielder = yields(here, borrowed(std::as_const(enough)), borrowed(steps), seen);
    while (steps < give_up) {
        co_await nothing(here);
        ++steps;
    }
    enough = true;
    co_await std::move(yielder);
}

std::size_t widest_gap(const std::vector<std::size_t>& seen) {
    std::size_t widest = 0;
    for (std::size_t i = 1; i < seen.size(); ++i) widest = std::max(widest, seen[i] - seen[i - 1]);
    return widest;
}

coflux::fork<void, pool> starts_a_yielder(coflux::environment&, borrowed<std::vector<std::size_t>> seen) {
    seen->push_back(0);
    co_return;
}

TEST(thread_pool_fairness, resumes_a_yielder_beside_a_coroutine_that_forks_and_awaits_for_ever) {
    pool p(1);
    auto env = coflux::make_environment(p);
    std::vector<std::size_t> seen;
    forks_beside_a_yielder(env, borrowed(seen)).get();
    // The yielder itself is the oldest fork and begins late; from then on it is among the ready.
    ASSERT_GE(seen.size(), 2U);
    EXPECT_LE(widest_gap(seen), stated_bound);
}

}  // namespace
