// Law 6, from the top: each coroutine makes the next one and awaits it, 100 000 deep (see depth), with every kind
// of start and every combinator.
//
// On stacks of 256 KiB: a few bytes of stack a level would overflow them.
#include <coflux/coflux.hpp>

#include <chrono>
#include <cstddef>
#include <ranges>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/iterations.hpp"
#include "support/small_stack.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using coflux_test::run_on_small_stack;
using coflux_test::small_stacks_for_new_threads;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

// Where a level takes more time it takes more stack, too: there a hundred bytes a level would show.
constexpr std::size_t depth = coflux_test::at_full_speed ? 100'000 : 5'000;

enum class bottom { value, wait, stop, error };

coflux::call<std::size_t> end_as(environment&, bottom how) {
    if (how == bottom::wait) co_await coflux::yield();
    if (how == bottom::error) throw std::runtime_error("at the bottom");
    if (how == bottom::stop) co_await coflux::this_coroutine::stop();
    co_return 0;
}

// --- how a level makes the next one: each adds 1 to what the level below gives ---------------------------------------

template <typename E>
coflux::fork<std::size_t, E> by_fork(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    co_return 1 + co_await by_fork<E>(here, left - 1, how);
}
/// All are children of the root.
template <typename E>
coflux::fork<std::size_t, E> by_sibling(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    co_return 1 + co_await by_sibling<E>(env, left - 1, how);
}
/// The next one is made, and does something else before it is awaited.
template <typename E>
coflux::fork<std::size_t, E> by_fork_and_more(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    auto next = by_fork_and_more<E>(here, left - 1, how);
    auto other = by_fork<E>(here, 0, bottom::value);
    const std::size_t none = co_await std::move(other);
    co_return 1 + none + co_await std::move(next);
}
coflux::fork<std::size_t> by_inherited_fork(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    co_return 1 + co_await by_inherited_fork(here, left - 1, how);
}
template <typename E>
coflux::task<std::size_t, E> by_task(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    co_return 1 + co_await by_task<E>(here, left - 1, how);
}
template <typename E>
coflux::fork<std::size_t, E> by_view(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    auto next = by_view<E>(here, left - 1, how);
    co_return 1 + co_await next.view();
}
coflux::call<std::size_t> by_call(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    co_return 1 + co_await by_call(here, left - 1, how);
}
coflux::call<std::size_t> by_outcome(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    auto o = co_await coflux::as_outcome(by_outcome(here, left - 1, how));
    if (o.has_error()) std::rethrow_exception(o.error());
    if (o.is_stopped()) co_await coflux::this_coroutine::stop();
    co_return 1 + std::move(o).value();
}
coflux::call<std::size_t> by_when_all(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    auto [below, none] = co_await coflux::when_all(by_when_all(here, left - 1, how), by_call(here, 0, bottom::value));
    co_return 1 + below + none;
}
template <typename E>
coflux::fork<std::size_t, E> by_when_all_of_forks(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    auto next = by_when_all_of_forks<E>(here, left - 1, how);
    auto other = by_fork<E>(here, 0, bottom::value);
    auto [below, none] = co_await coflux::when_all(std::move(next), std::move(other));
    co_return 1 + below + none;
}
template <typename E>
coflux::fork<std::size_t, E> by_range(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::size_t, E>> next;
    next.push_back(by_range<E>(here, left - 1, how));
    const auto below = co_await coflux::when_all(std::move(next));
    co_return 1 + below.front();
}
coflux::call<std::size_t> by_when_any(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    auto below = co_await coflux::when_any(by_when_any(here, left - 1, how));
    co_return 1 + std::get<0>(below);
}
template <typename E>
coflux::fork<std::size_t, E> by_when_any_of_forks(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    auto below = co_await coflux::when_any(by_when_any_of_forks<E>(here, left - 1, how));
    co_return 1 + std::get<0>(below);
}
coflux::call<std::size_t> by_race(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    co_return 1 + co_await coflux::race(by_race(here, left - 1, how));
}
coflux::call<std::size_t> by_first_success(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    co_return 1 + co_await coflux::first_success(by_first_success(here, left - 1, how));
}
coflux::call<std::size_t> by_timeout(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    co_return 1 + *co_await coflux::timeout(by_timeout(here, left - 1, how), 1h);
}
template <typename E>
coflux::fork<std::size_t, E> by_timeout_of_fork(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    co_return 1 + *co_await coflux::timeout(by_timeout_of_fork<E>(here, left - 1, how), 1h);
}
coflux::call<std::size_t> by_for_each(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    std::size_t below = 0;
    co_await coflux::for_each_concurrent(std::views::iota(0, 1), 1, [&](environment& e, int) -> coflux::call<void> {
        below = co_await by_for_each(e, left - 1, how);
    });
    co_return 1 + below;
}

coflux::call<std::size_t> by_outcomes(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    auto [o] = co_await coflux::when_all_outcomes(by_outcomes(here, left - 1, how));
    if (o.has_error()) std::rethrow_exception(o.error());
    if (o.is_stopped()) co_await coflux::this_coroutine::stop();
    co_return 1 + std::move(o).value();
}
template <typename E>
coflux::fork<std::size_t, E> by_when_n(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::size_t, E>> next;
    next.push_back(by_when_n<E>(here, left - 1, how));
    auto below = co_await coflux::when_n(std::move(next), 1);
    co_return 1 + below.front().value();
}
coflux::call<std::size_t> by_select(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    auto below = co_await coflux::select(by_select(here, left - 1, how));
    co_return 1 + below.get<0>();
}
template <typename E>
coflux::fork<std::size_t, E> by_select_of_forks(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    auto below = co_await coflux::select(by_select_of_forks<E>(here, left - 1, how));
    co_return 1 + below.template get<0>();
}
template <typename E>
coflux::fork<std::size_t, E> by_when_all_of_views(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    auto next = by_when_all_of_views<E>(here, left - 1, how);
    auto [below] = co_await coflux::when_all(next.view());
    co_return 1 + below;
}
coflux::call<std::size_t> by_deadline(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    co_return 1 + *co_await coflux::deadline(by_deadline(here, left - 1, how), coflux::clock::now() + 1h);
}
coflux::call<std::size_t> by_shielded(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    co_return 1 + co_await coflux::shielded(by_shielded(here, left - 1, how));
}
coflux::call<std::size_t> by_with_scope(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    co_return 1 + co_await coflux::with_scope(here, [&](environment& scope) -> coflux::call<std::size_t> {
        co_return co_await by_with_scope(scope, left - 1, how);
    });
}
/// In an environment of its own each. An error must not pass its join().
template <typename E>
coflux::fork<std::size_t, E> by_derived(environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    auto&& here = co_await coflux::context();
    auto own = coflux::make_environment(here);
    auto below = co_await coflux::as_outcome(by_derived<E>(own, left - 1, how));
    co_await own.join();
    if (below.has_error()) std::rethrow_exception(below.error());
    if (below.is_stopped()) co_await coflux::this_coroutine::stop();
    co_return 1 + std::move(below).value();
}
template <typename E>
coflux::fork<void, E> by_task_scope(environment& env, std::size_t left, bottom how, std::size_t* sum) {
    if (left == 0) {
        *sum = co_await end_as(env, how);
        co_return;
    }
    auto&& here = co_await coflux::context();
    coflux::task_scope scope(here);
    scope.spawn(by_task_scope<E>, left - 1, how, sum);
    co_await scope.join();
    ++*sum;
}
template <typename E>
coflux::fork<std::size_t, E> by_task_scopes(environment&, std::size_t left, bottom how) {
    auto&& here = co_await coflux::context();
    std::size_t sum = 0;
    co_await by_task_scope<E>(here, left, how, &sum);
    if (how == bottom::stop) co_await coflux::this_coroutine::stop();  // a scope's stopped child stops no other
    co_return sum;
}
coflux::async_generator<std::size_t> numbers(environment& env, std::size_t left, bottom how) {
    if (left == 0) {
        co_yield co_await end_as(env, how);
        co_return;
    }
    auto&& here = co_await coflux::context();
    auto below = numbers(here, left - 1, how);
    while (const std::size_t* const x = co_await below.next()) co_yield *x + 1;
}
coflux::call<std::size_t> by_async_generator(environment&, std::size_t left, bottom how) {
    auto&& here = co_await coflux::context();
    auto all = numbers(here, left, how);
    std::size_t last = 0;
    while (const std::size_t* const x = co_await all.next()) last = *x;
    co_return last;
}

// --- the matrix ------------------------------------------------------------------------------------------------------

template <auto Next, typename Root>
coflux::task<void, Root> goes_down(environment&, bottom how) {
    auto&& here = co_await coflux::context();
    auto o = co_await coflux::as_outcome(Next(here, depth, how));
    EXPECT_EQ(o.is_stopped(), how == bottom::stop);
    EXPECT_EQ(o.has_error(), how == bottom::error);
    if (o.has_value()) {
        EXPECT_EQ(std::move(o).value(), depth);
    }
}

constexpr bottom bottoms[] = {bottom::value, bottom::wait, bottom::stop, bottom::error};

template <auto Next>
void expect_to_work_on_a_pool() {
    const small_stacks_for_new_threads small;
    for (const bottom how : bottoms) {
        pool workers(1);
        coflux::counting_resource frames;
        {
            auto env = coflux::make_environment(&frames, workers);
            goes_down<Next, pool>(env, how).get();
        }
        EXPECT_EQ(frames.live(), 0U);
    }
}
template <auto Next>
void expect_to_work_without_an_executor() {
    run_on_small_stack([] {
        for (const bottom how : bottoms) {
            auto env = coflux::make_environment();
            goes_down<Next, noop>(env, how).get();
        }
    });
}
template <auto Next>
void expect_to_work() {
    expect_to_work_on_a_pool<Next>();
    expect_to_work_without_an_executor<Next>();
}

TEST(law_06_recursion, of_noop_forks) {
    expect_to_work<by_fork<noop>>();
}
TEST(law_06_recursion, of_pool_forks) {
    expect_to_work_on_a_pool<by_fork<pool>>();
}
TEST(law_06_recursion, of_forks_on_their_makers_executor) {
    expect_to_work<by_inherited_fork>();
}
TEST(law_06_recursion, of_noop_forks_in_one_scope) {
    expect_to_work<by_sibling<noop>>();
}
TEST(law_06_recursion, of_noop_forks_that_are_awaited_later) {
    expect_to_work<by_fork_and_more<noop>>();
}
TEST(law_06_recursion, of_noop_tasks) {
    expect_to_work<by_task<noop>>();
}
TEST(law_06_recursion, of_views_of_noop_forks) {
    expect_to_work<by_view<noop>>();
}
TEST(law_06_recursion, of_views_of_pool_forks) {
    expect_to_work_on_a_pool<by_view<pool>>();
}
TEST(law_06_recursion, of_calls) {
    expect_to_work<by_call>();
}
TEST(law_06_recursion, of_outcomes_of_calls) {
    expect_to_work<by_outcome>();
}
TEST(law_06_recursion, of_when_all) {
    expect_to_work<by_when_all>();
}
TEST(law_06_recursion, of_when_all_of_noop_forks) {
    expect_to_work<by_when_all_of_forks<noop>>();
}
TEST(law_06_recursion, of_when_all_of_pool_forks) {
    expect_to_work_on_a_pool<by_when_all_of_forks<pool>>();
}
TEST(law_06_recursion, of_when_all_of_a_range) {
    expect_to_work<by_range<noop>>();
}
TEST(law_06_recursion, of_when_any) {
    expect_to_work<by_when_any>();
}
TEST(law_06_recursion, of_when_any_of_noop_forks) {
    expect_to_work<by_when_any_of_forks<noop>>();
}
TEST(law_06_recursion, of_race) {
    expect_to_work<by_race>();
}
TEST(law_06_recursion, of_first_success) {
    expect_to_work<by_first_success>();
}
TEST(law_06_recursion, of_timeout) {
    expect_to_work<by_timeout>();
}
TEST(law_06_recursion, of_timeout_of_noop_forks) {
    expect_to_work<by_timeout_of_fork<noop>>();
}
TEST(law_06_recursion, of_for_each_concurrent) {
    expect_to_work<by_for_each>();
}
TEST(law_06_recursion, of_when_all_outcomes) {
    expect_to_work<by_outcomes>();
}
TEST(law_06_recursion, of_when_n_of_noop_forks) {
    expect_to_work<by_when_n<noop>>();
}
TEST(law_06_recursion, of_when_n_of_pool_forks) {
    expect_to_work_on_a_pool<by_when_n<pool>>();
}
TEST(law_06_recursion, of_select) {
    expect_to_work<by_select>();
}
TEST(law_06_recursion, of_select_of_noop_forks) {
    expect_to_work<by_select_of_forks<noop>>();
}
TEST(law_06_recursion, of_when_all_of_views) {
    expect_to_work<by_when_all_of_views<noop>>();
}
TEST(law_06_recursion, of_deadline) {
    expect_to_work<by_deadline>();
}
TEST(law_06_recursion, of_shielded) {
    expect_to_work<by_shielded>();
}
TEST(law_06_recursion, of_with_scope) {
    expect_to_work<by_with_scope>();
}
TEST(law_06_recursion, of_derived_environments) {
    expect_to_work_on_a_pool<by_derived<pool>>();
}
TEST(law_06_recursion, of_task_scopes) {
    expect_to_work_on_a_pool<by_task_scopes<pool>>();
}
TEST(law_06_recursion, of_async_generators) {
    expect_to_work<by_async_generator>();
}

// --- what finds no room begins later, and still where and as often as it should --------------------------------------

/// The next one is not awaited.
coflux::fork<void, noop> leaves_behind(environment&, std::size_t left, std::size_t* begun) {
    ++*begun;
    if (left == 0) co_return;
    auto&& here = co_await coflux::context();
    leaves_behind(here, left - 1, begun).attach();
    leaves_behind(here, 0, begun).attach();
}
template <typename Root>
coflux::task<void, Root> leaves_many_behind(environment&, std::size_t* begun) {
    auto&& here = co_await coflux::context();
    leaves_behind(here, depth, begun).attach();
    co_return;
}

TEST(law_06_recursion, of_noop_forks_that_are_not_awaited_begins_each_once) {
    run_on_small_stack([] {
        std::size_t begun = 0;
        auto env = coflux::make_environment();
        leaves_many_behind<noop>(env, &begun).get();
        EXPECT_EQ(begun, 2 * depth + 1);
    });
    const small_stacks_for_new_threads small;
    pool workers(2);
    std::size_t begun = 0;
    auto env = coflux::make_environment(workers);
    leaves_many_behind<pool>(env, &begun).get();
    EXPECT_EQ(begun, 2 * depth + 1);
}

/// Each begins on the thread of its maker, and not beside it: what they share before they wait needs no lock.
coflux::fork<std::size_t, noop> stays(environment&, std::size_t left, std::thread::id on) {
    EXPECT_EQ(std::this_thread::get_id(), on);
    if (left == 0) co_return 0;
    auto&& here = co_await coflux::context();
    co_return 1 + co_await stays(here, left - 1, std::this_thread::get_id());
}
coflux::task<std::size_t, pool> stays_on_its_thread(environment&) {
    auto&& here = co_await coflux::context();
    auto chain = stays(here, depth, std::this_thread::get_id());
    co_return co_await std::move(chain);
}

TEST(law_06_recursion, of_noop_forks_begins_each_on_the_thread_of_its_maker) {
    const small_stacks_for_new_threads small;
    pool workers(4);
    auto env = coflux::make_environment(workers);
    EXPECT_EQ(stays_on_its_thread(env).get(), depth);
}

}  // namespace
