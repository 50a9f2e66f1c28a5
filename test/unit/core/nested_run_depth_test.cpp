// A coroutine that runs nested on its awaiter's stack has room there for some depth only, and may suspend at any time.
#include <coflux/base/stack.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/iterations.hpp"
#include "support/random_numbers.hpp"
#include "support/small_stack.hpp"

namespace {

using coflux_test::small_stacks_for_new_threads;
using pool = coflux::thread_pool_executor;

// --- more levels than there is room for ------------------------------------------------------------------------------

enum class leaving { never, at_the_bottom, everywhere };

coflux::call<std::size_t> calls_down(coflux::environment& env, std::size_t left, leaving l) {
    if (left == 0) {
        if (l != leaving::never) co_await coflux::yield();
        co_return 0;
    }
    const std::size_t below = co_await calls_down(env, left - 1, l);
    if (l == leaving::everywhere) co_await coflux::yield();
    co_return below + 1;
}
coflux::fork<std::size_t> forks_down(coflux::environment&, std::size_t left, leaving l) {
    auto&& here = co_await coflux::context();
    if (left == 0) {
        if (l != leaving::never) co_await coflux::yield();
        co_return 0;
    }
    const std::size_t below = co_await forks_down(here, left - 1, l);
    if (l == leaving::everywhere) co_await coflux::yield();
    co_return below + 1;
}
/// A fork in a call in a fork …
coflux::call<std::size_t> both_down(coflux::environment& env, std::size_t left, leaving l);
coflux::fork<std::size_t> both_down_by_fork(coflux::environment&, std::size_t left, leaving l) {
    auto&& here = co_await coflux::context();
    co_return co_await both_down(here, left - 1, l);
}
coflux::call<std::size_t> both_down(coflux::environment& env, std::size_t left, leaving l) {
    if (left == 0) co_return co_await calls_down(env, 0, l);
    auto&& here = co_await coflux::context();
    const std::size_t below = co_await both_down_by_fork(here, left, l);
    if (l == leaving::everywhere) co_await coflux::yield();
    co_return below + 1;
}

coflux::task<void, pool> goes_down(coflux::environment&, std::size_t depth, leaving l) {
    auto&& here = co_await coflux::context();
    for (int again = 0; again < 2; ++again) {
        EXPECT_EQ(co_await calls_down(here, depth, l), depth);
        EXPECT_EQ(co_await forks_down(here, depth, l), depth);
        EXPECT_EQ(co_await both_down(here, depth, l), depth);
    }
}

constexpr unsigned deepest = coflux_test::at_full_speed ? 20'000 : 5'000;

TEST(nested_run_depth, a_chain_with_no_room_on_the_stack_ends_wherever_it_suspends) {
    const small_stacks_for_new_threads small;
    for (const std::size_t threads : {1U, 2U}) {
        for (const leaving l : {leaving::never, leaving::at_the_bottom, leaving::everywhere}) {
            pool workers(threads);
            auto env = coflux::make_environment(workers);
            for (const unsigned depth : {10U, 100U, 300U, 1000U, deepest}) goes_down(env, depth, l).get();
        }
    }
}

// --- trees whose coroutines suspend here and there, while other workers steal them -----------------------------------

/// Sum of 1 to `n`, as a tree. A node's other acts are drawn from its seed: the answer is the same.
coflux::fork<std::uint64_t> sums(coflux::environment&, std::uint64_t first, std::uint64_t last, std::uint64_t seed);
coflux::call<std::uint64_t> sums_by_call(coflux::environment& env, std::uint64_t first, std::uint64_t last,
                                         std::uint64_t seed) {
    if (seed % 5 == 0) co_await coflux::yield();
    auto&& here = co_await coflux::context();
    const std::uint64_t sum = co_await sums(here, first, last, seed * 31 + 7);
    if (seed % 7 == 0) co_await coflux::yield();
    (void)env;
    co_return sum;
}
coflux::fork<std::uint64_t> sums(coflux::environment&, std::uint64_t first, std::uint64_t last, std::uint64_t seed) {
    coflux_test::random_numbers draw(seed);
    if (draw.below(8) == 0) co_await coflux::yield();
    if (first == last) co_return first;
    auto&& here = co_await coflux::context();
    const std::uint64_t middle = first + (last - first) / 2;
    auto left = sums(here, first, middle, seed * 2 + 1);
    if (draw.below(8) == 0) co_await coflux::yield();
    std::uint64_t sum = 0;
    switch (draw.below(4)) {
    case 0:
        sum = co_await sums_by_call(here, middle + 1, last, seed * 2 + 2);
        sum += co_await std::move(left);
        break;
    case 1: {
        auto right = sums(here, middle + 1, last, seed * 2 + 2);
        auto [a, b] = co_await coflux::when_all(std::move(left), std::move(right));
        sum = a + b;
        break;
    }
    case 2: {
        auto right = sums(here, middle + 1, last, seed * 2 + 2);
        sum = co_await std::move(left);
        sum += co_await std::move(right);
        break;
    }
    default: {
        auto right = sums(here, middle + 1, last, seed * 2 + 2);
        sum = co_await std::move(right);
        if (draw.below(4) == 0) co_await coflux::yield();
        sum += co_await std::move(left);
    }
    }
    if (draw.below(8) == 0) co_await coflux::yield();
    co_return sum;
}

coflux::task<std::uint64_t, pool> sums_all(coflux::environment&, std::uint64_t n, std::uint64_t seed) {
    auto&& here = co_await coflux::context();
    co_return co_await sums(here, 1, n, seed);
}

TEST(nested_run_depth, a_tree_whose_coroutines_suspend_and_are_stolen_gives_its_sum) {
    coflux::counting_resource frames;
    for (const std::size_t threads : {1U, 2U, 4U}) {
        pool workers(threads);
        auto pooled = coflux::make_environment(workers);
        auto counted = coflux::make_environment(&frames, workers);
        for (std::uint64_t round = 0; round < coflux_test::repetitions(200); ++round) {
            ASSERT_EQ(sums_all(pooled, 1000, round).get(), 500'500U);
            ASSERT_EQ(sums_all(counted, 1000, round + 1'000'000).get(), 500'500U);
        }
    }
    EXPECT_EQ(frames.live(), 0U);
}

}  // namespace
