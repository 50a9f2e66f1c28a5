// Outside workers, too, a call runs on the stack of the coroutine that awaits it: as deep as on a worker, on the
// thread's own stack only, and not where a coroutine below waits for control. docs/design/fork_join.md has the rule.
#include <coflux/base/stack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <ucontext.h>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/foreign_event.hpp"
#include "support/iterations.hpp"
#include "support/small_stack.hpp"

namespace {

using coflux::borrowed;
using coflux::environment;
using coflux_test::foreign_event;
using coflux_test::manual_executor;
using coflux_test::run_on_small_stack;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;

/// Where the stack was at each level, from the top down.
using addresses = std::vector<std::uintptr_t>;

coflux::call<std::size_t> notes_stack(environment& env, std::size_t left, addresses& at) {
    at.push_back(coflux::detail::stack_address());
    if (left == 0) co_return 0;
    co_return 1 + co_await notes_stack(env, left - 1, at);
}
template <typename E>
coflux::task<std::size_t, E> notes(environment&, std::size_t depth, borrowed<addresses> at) {
    auto&& here = co_await coflux::context();
    // The first await of a coroutine that begins in the call that makes it goes by transfer.
    addresses none;
    co_await notes_stack(here, 0, none);
    co_return co_await notes_stack(here, depth, *at);
}

void expect_nested(const addresses& at) {
    for (std::size_t i = 1; i < at.size(); ++i) EXPECT_LT(at[i], at[i - 1]) << "level " << i;
}
TEST(nested_run_outside, of_a_call_lies_on_its_awaiters_stack) {
    addresses at;
    auto env = coflux::make_environment(noop());
    EXPECT_EQ(notes<noop>(env, 10, borrowed(at)).get(), 10U);
    expect_nested(at);

    manual_executor steps;
    auto stepped = coflux::make_environment(steps);
    at.clear();
    EXPECT_EQ(steps.run(notes<manual_executor>(stepped, 10, borrowed(at))), 10U);
    expect_nested(at);
}

// g++ without optimisation has no tail calls: 64 transfers may lie on one another before a loop has control.
#if COFLUX_TAIL_CALLS
std::uintptr_t depth_of(const addresses& at) {
    return *std::ranges::max_element(at) - *std::ranges::min_element(at);
}

TEST(nested_run_outside, of_a_chain_of_calls_takes_no_more_of_the_stack_than_on_a_worker) {
    addresses at;
    auto env = coflux::make_environment(noop());
    constexpr std::size_t depth = 20'000;
    EXPECT_EQ(notes<noop>(env, depth, borrowed(at)).get(), depth);
    EXPECT_LT(depth_of(at), coflux::detail::stack_for_awaits + 16 * 1024);
}
#endif

// --- depth -----------------------------------------------------------------------------------------------------------

enum class leaving { never, at_the_bottom, everywhere };

coflux::call<std::size_t> calls_down(environment& env, std::size_t left, leaving l) {
    if (left == 0) {
        if (l != leaving::never) co_await coflux::yield();
        co_return 0;
    }
    const std::size_t below = co_await calls_down(env, left - 1, l);
    if (l == leaving::everywhere) co_await coflux::yield();
    co_return below + 1;
}
template <typename E>
coflux::task<std::size_t, E> goes_down(environment&, std::size_t depth, leaving l) {
    auto&& here = co_await coflux::context();
    co_return co_await calls_down(here, depth, l);
}

constexpr std::size_t deepest = coflux_test::at_full_speed ? 1'000'000 : 20'000;

TEST(nested_run_outside, of_a_chain_of_any_depth_ends_wherever_it_suspends) {
    run_on_small_stack([] {
        auto env = coflux::make_environment(noop());
        for (const std::size_t depth : {std::size_t{10}, std::size_t{300}, std::size_t{1000}, deepest})
            EXPECT_EQ(goes_down<noop>(env, depth, leaving::never).get(), depth);

        manual_executor steps;
        auto stepped = coflux::make_environment(steps);
        for (const leaving l : {leaving::never, leaving::at_the_bottom, leaving::everywhere}) {
            for (const std::size_t depth : {std::size_t{10}, std::size_t{300}, std::size_t{1000}, deepest})
                EXPECT_EQ(steps.run(goes_down<manual_executor>(stepped, depth, l)), depth);
        }
    });
}

#if !COFLUX_ASAN && !COFLUX_TEST_TSAN
coflux::environment* environment_of_fiber;
ucontext_t thread_context;
ucontext_t fiber_context;

void run_fiber() {
    EXPECT_EQ(goes_down<noop>(*environment_of_fiber, 100'000, leaving::never).get(), 100'000U);
    swapcontext(&fiber_context, &thread_context);
}

TEST(nested_run_outside, takes_nothing_of_a_stack_that_is_not_the_threads_own) {
    std::thread([] {
        auto env = coflux::make_environment(noop());
        EXPECT_EQ(goes_down<noop>(env, 1000, leaving::never).get(), 1000U);
        constexpr std::size_t bytes = 48 * 1024;  // less than a chain takes of the thread's own
        const auto stack = std::make_unique<char[]>(bytes);
        environment_of_fiber = &env;
        ASSERT_EQ(getcontext(&fiber_context), 0);
        fiber_context.uc_stack.ss_sp = stack.get();
        fiber_context.uc_stack.ss_size = bytes;
        makecontext(&fiber_context, run_fiber, 0);
        swapcontext(&thread_context, &fiber_context);
    }).join();
}
#endif

// --- what else is on the stack ---------------------------------------------------------------------------------------

coflux::call<int> waits(environment&, foreign_event& until, int result) {
    co_await until;
    co_return result;
}
coflux::call<int> ends(environment&, int result) {
    co_return result;
}
template <typename E>
coflux::fork<int, E> child(environment&, borrowed<foreign_event> until, int result) {
    co_await *until;
    co_return result;
}
template <typename E>
coflux::fork<int, E> child_that_calls(environment&, borrowed<foreign_event> until, int result) {
    auto&& here = co_await coflux::context();
    const int first = co_await ends(here, result);
    co_return first + co_await waits(here, *until, 1);
}

/// Calls before, between and behind children that wait in the call that makes them.
coflux::task<int, noop> mixes(environment&, borrowed<foreign_event> first, borrowed<foreign_event> second,
                              borrowed<foreign_event> third) {
    auto&& here = co_await coflux::context();
    int sum = co_await ends(here, 1);
    auto a = child<noop>(here, first, 2);
    sum += co_await ends(here, 4);
    auto b = child_that_calls<noop>(here, second, 8);
    sum += co_await ends(here, 16);
    sum += co_await waits(here, *third, 32);
    sum += co_await ends(here, 64);
    sum += co_await std::move(a);
    sum += co_await std::move(b);
    co_return sum;
}

TEST(nested_run_outside, of_calls_goes_on_beside_children_that_wait) {
    auto env = coflux::make_environment(noop());
    for (unsigned order = 0; order < 6; ++order) {
        foreign_event events[3];
        auto root = mixes(env, borrowed(events[0]), borrowed(events[1]), borrowed(events[2]));
        unsigned next[] = {0, 1, 2};
        for (unsigned i = 0; i < order; ++i) std::ranges::next_permutation(next);
        for (const unsigned e : next) {
            EXPECT_FALSE(root.done());
            events[e].set();
        }
        ASSERT_TRUE(root.done());
        EXPECT_EQ(std::move(root).get(), 1 + 2 + 4 + 9 + 16 + 32 + 64);
    }
}

/// A child of an executor with threads cannot run on the awaiter's stack where that is no worker.
template <typename E>
coflux::task<int, noop> awaits_others(environment&, borrowed<foreign_event> set) {
    auto&& here = co_await coflux::context();
    int sum = co_await ends(here, 1);
    sum += co_await ends(here, 2);
    auto a = child<E>(here, set, 4);
    sum += co_await std::move(a);
    sum += co_await ends(here, 8);
    co_return sum;
}

TEST(nested_run_outside, is_none_of_a_fork) {
    foreign_event set;
    set.set();
    pool workers(1);
    auto env = coflux::make_environment(workers, noop());
    for (int i = 0; i < 100; ++i) EXPECT_EQ(awaits_others<pool>(env, borrowed(set)).get(), 15);

    manual_executor steps;
    auto stepped = coflux::make_environment(steps, noop());
    auto root = awaits_others<manual_executor>(stepped, borrowed(set));
    steps.run_all();
    ASSERT_TRUE(root.done());
    EXPECT_EQ(std::move(root).get(), 15);
}

/// A loop on this thread has its own limit meanwhile; afterwards calls run nested again.
TEST(nested_run_outside, is_as_before_after_a_loop_has_run_on_the_thread) {
    auto env = coflux::make_environment(noop());
    for (int i = 0; i < 2; ++i) {
        addresses at;
        EXPECT_EQ(notes<noop>(env, 10, borrowed(at)).get(), 10U);
        expect_nested(at);
        coflux::run_loop loop;
        auto looped = coflux::make_environment(loop);
        at.clear();
        EXPECT_EQ(loop.run(notes<coflux::run_loop>(looped, 10, borrowed(at))), 10U);
        expect_nested(at);
    }
}

}  // namespace
