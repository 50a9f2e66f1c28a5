// Law 6, second half: a chain of awaits 100 000 deep, which ends with a value, a stop or an error at the bottom.
#include <coflux/coflux.hpp>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/foreign_event.hpp"
#include "support/iterations.hpp"
#include "support/small_stack.hpp"

namespace {

using coflux_test::foreign_event;
using coflux_test::manual_executor;
using coflux_test::run_on_small_stack;
using coflux_test::small_stacks_for_new_threads;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

// A throw through 100 000 coroutines takes many seconds where AddressSanitizer unwinds.
constexpr std::size_t depth = coflux_test::at_full_speed ? 100'000 : 20'000;

enum class bottom { value, stop, error };

coflux::call<std::size_t> end_as(coflux::environment&, bottom how) {
    if (how == bottom::error) throw std::runtime_error("at the bottom");
    if (how == bottom::stop) co_await coflux::this_coroutine::stop();
    co_return 0;
}

template <typename T>
void expect_end(coflux::outcome<T>&& o, bottom how) {
    EXPECT_EQ(o.is_stopped(), how == bottom::stop);
    EXPECT_EQ(o.has_error(), how == bottom::error);
    if (how == bottom::value) {
        ASSERT_TRUE(o.has_value());
        EXPECT_EQ(std::move(o).value(), depth);
    }
}

// --- calls -----------------------------------------------------------------------------------------------------------

coflux::call<std::size_t> chain_of_calls(coflux::environment& env, std::size_t left, bottom how) {
    if (left == 0) co_return co_await end_as(env, how);
    co_return 1 + co_await chain_of_calls(env, left - 1, how);
}

template <typename E>
coflux::task<void, E> calls(coflux::environment&, bottom how) {
    auto&& here = co_await coflux::context();
    expect_end(co_await coflux::as_outcome(chain_of_calls(here, depth, how)), how);
}

void expect_chain_of_calls(bottom how) {
    run_on_small_stack([&] {
        auto env = coflux::make_environment();
        calls<noop>(env, how).get();
    });
    const small_stacks_for_new_threads small;
    pool workers(1);
    auto env = coflux::make_environment(workers);
    calls<pool>(env, how).get();
}

TEST(law_06_chain, of_calls_ends_with_a_value) {
    expect_chain_of_calls(bottom::value);
}
TEST(law_06_chain, of_calls_is_stopped_at_the_bottom) {
    expect_chain_of_calls(bottom::stop);
}
TEST(law_06_chain, of_calls_throws_at_the_bottom) {
    expect_chain_of_calls(bottom::error);
}

// --- pool forks, each made by the one above ----------------------------------------------------------------------

coflux::fork<std::size_t, pool> chain_of_forks(coflux::environment&, std::size_t left, bottom how) {
    auto&& here = co_await coflux::context();
    if (left == 0) co_return co_await end_as(here, how);
    co_return 1 + co_await chain_of_forks(here, left - 1, how);
}

coflux::task<void, pool> forks(coflux::environment&, bottom how) {
    auto&& here = co_await coflux::context();
    expect_end(co_await coflux::as_outcome(chain_of_forks(here, depth, how)), how);
}

void expect_chain_of_forks(bottom how) {
    const small_stacks_for_new_threads small;
    for (const std::size_t threads : {1U, 2U}) {
        pool workers(threads);
        auto env = coflux::make_environment(workers);
        forks(env, how).get();
    }
}

TEST(law_06_chain, of_pool_forks_ends_with_a_value) {
    expect_chain_of_forks(bottom::value);
}
TEST(law_06_chain, of_pool_forks_is_stopped_at_the_bottom) {
    expect_chain_of_forks(bottom::stop);
}
TEST(law_06_chain, of_pool_forks_throws_at_the_bottom) {
    expect_chain_of_forks(bottom::error);
}

coflux::task<std::size_t, pool> long_chain(coflux::environment&, std::size_t length) {
    auto&& here = co_await coflux::context();
    co_return co_await chain_of_forks(here, length, bottom::value);
}

TEST(law_06_chain, of_any_depth_costs_the_same_a_link_after_a_stop_somewhere) {
    // If a request made each link look at all links above it, this would take minutes.
    auto elsewhere = coflux::make_environment();
    elsewhere.request_stop();
    constexpr std::size_t length = 300'000;
    pool workers(1);
    auto env = coflux::make_environment(workers);
    EXPECT_EQ(long_chain(env, length).get(), length);
}

// --- forks that await the fork made before them: noop forks start inline, so the chain is built from its bottom ------

template <typename E>
coflux::fork<std::size_t, E> first_link(coflux::environment&, foreign_event* go, bottom how) {
    auto&& here = co_await coflux::context();
    co_await *go;
    co_return co_await end_as(here, how);
}

template <typename E>
coflux::fork<std::size_t, E> next_link(coflux::environment&, coflux::fork<std::size_t, E> before) {
    co_return 1 + co_await std::move(before);
}

template <typename Root, typename E>
coflux::task<void, Root> links(coflux::environment&, foreign_event* go, bottom how) {
    auto&& here = co_await coflux::context();
    auto chain = first_link<E>(here, go, how);
    for (std::size_t i = 0; i < depth; ++i) {
        auto next = next_link<E>(here, std::move(chain));
        chain = std::move(next);
    }
    expect_end(co_await coflux::as_outcome(std::move(chain)), how);
}

void expect_chain_of_noop_links(bottom how) {
    run_on_small_stack([&] {
        foreign_event go;
        auto env = coflux::make_environment();
        auto root = links<noop, noop>(env, &go, how);
        EXPECT_FALSE(root.done());
        go.set();
        root.get();
    });
}

TEST(law_06_chain, of_noop_forks_ends_with_a_value) {
    expect_chain_of_noop_links(bottom::value);
}
TEST(law_06_chain, of_noop_forks_is_stopped_at_the_bottom) {
    expect_chain_of_noop_links(bottom::stop);
}
TEST(law_06_chain, of_noop_forks_throws_at_the_bottom) {
    expect_chain_of_noop_links(bottom::error);
}

void expect_chain_of_noop_links_on_a_pool(bottom how) {
    const small_stacks_for_new_threads small;
    pool workers(1);
    foreign_event go;
    auto env = coflux::make_environment(workers);
    auto root = links<pool, noop>(env, &go, how);
    go.set();
    root.get();
}

TEST(law_06_chain, of_noop_forks_on_a_pool_ends_with_a_value) {
    expect_chain_of_noop_links_on_a_pool(bottom::value);
}
TEST(law_06_chain, of_noop_forks_on_a_pool_is_stopped_at_the_bottom) {
    expect_chain_of_noop_links_on_a_pool(bottom::stop);
}
TEST(law_06_chain, of_noop_forks_on_a_pool_throws_at_the_bottom) {
    expect_chain_of_noop_links_on_a_pool(bottom::error);
}

void expect_chain_on_manual_executor(bottom how) {
    run_on_small_stack([&] {
        manual_executor by_hand;
        foreign_event go;
        auto env = coflux::make_environment(by_hand);
        auto root = links<manual_executor, manual_executor>(env, &go, how);
        by_hand.run_all();
        go.set();
        by_hand.run_all();
        ASSERT_TRUE(root.done());
        root.get();
    });
}

TEST(law_06_chain, on_a_users_executor_ends_with_a_value) {
    expect_chain_on_manual_executor(bottom::value);
}
TEST(law_06_chain, on_a_users_executor_is_stopped_at_the_bottom) {
    expect_chain_on_manual_executor(bottom::stop);
}
TEST(law_06_chain, on_a_users_executor_throws_at_the_bottom) {
    expect_chain_on_manual_executor(bottom::error);
}

// --- scopes that end one inside the other ----------------------------------------------------------------------------

coflux::fork<void, pool> nested_scope(coflux::environment&, std::size_t left) {
    auto&& here = co_await coflux::context();
    if (left > 0) nested_scope(here, left - 1).attach();
}

TEST(law_06_chain, of_scopes_that_are_not_awaited_completes) {
    const small_stacks_for_new_threads small;
    pool workers(1);
    auto env = coflux::make_environment(workers);
    [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        nested_scope(here, depth).attach();
    }(env)
                                    .get();
}

}  // namespace
