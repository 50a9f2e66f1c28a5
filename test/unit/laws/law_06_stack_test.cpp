// Law 6: ten million synchronous completions in a loop use constant stack, and a chain of awaits 100 000 deep works.
//
// All of it runs on stacks of 256 KiB, pool threads included: one frame of eight bytes a completion would overflow
// them.
#include <coflux/coflux.hpp>

#include <cstddef>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include "support/foreign_event.hpp"
#include "support/iterations.hpp"
#include "support/small_stack.hpp"

namespace {

using coflux_test::foreign_event;
using coflux_test::run_on_small_stack;
using coflux_test::small_stacks_for_new_threads;
using coflux_test::ten_million;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

pool pool_on_small_stacks(std::size_t threads) {
    const small_stacks_for_new_threads small;
    return pool(threads);
}

// --- loops -----------------------------------------------------------------------------------------------------------

coflux::call<std::size_t> callee(coflux::environment&, std::size_t i) {
    co_return i;
}
coflux::call<std::size_t> stopping_callee(coflux::environment&) {
    co_await coflux::this_coroutine::stop();
    co_return 0;
}
template <typename E>
coflux::fork<std::size_t, E> child(coflux::environment&, std::size_t i) {
    co_return i;
}
template <typename E>
coflux::fork<std::size_t, E> stopping_child(coflux::environment&) {
    co_await coflux::this_coroutine::stop();
    co_return 0;
}

coflux::call<void> many_calls(coflux::environment& env, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(co_await callee(env, i), i);
}
template <typename E>
coflux::call<void> many_forks(coflux::environment&, std::size_t n) {
    auto&& here = co_await coflux::context();
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(co_await child<E>(here, i), i);
}
coflux::call<void> many_yields(coflux::environment&, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) co_await coflux::yield();
}
coflux::call<void> many_ready_events(coflux::environment&, std::size_t n) {
    foreign_event set;
    set.set();
    for (std::size_t i = 0; i < n; ++i) co_await set;
}
/// Says that it is not ready, and then that it need not wait after all.
struct almost_ready {
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<>) const noexcept { return false; }
    void await_resume() const noexcept {}
};
coflux::call<void> many_almost_ready(coflux::environment&, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) co_await almost_ready{};
}
/// Resumes its waiter inside await_suspend.
struct resumes_at_once {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const { h.resume(); }
    void await_resume() const noexcept {}
};
coflux::call<void> many_resumed_at_once(coflux::environment&, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) co_await resumes_at_once{};
}
template <typename E>
coflux::call<void> many_ready_forks(coflux::environment&, std::size_t n) {
    auto&& here = co_await coflux::context();
    for (std::size_t i = 0; i < n; ++i) {
        auto f = child<E>(here, i);
        while (!f.done()) co_await coflux::yield();
        EXPECT_EQ(co_await std::move(f), i);
    }
}
template <typename E>
coflux::call<void> many_stopped_forks(coflux::environment&, std::size_t n) {
    auto&& here = co_await coflux::context();
    for (std::size_t i = 0; i < n; ++i) {
        auto o = co_await coflux::as_outcome(stopping_child<E>(here));
        EXPECT_TRUE(o.is_stopped());
    }
}
coflux::call<void> many_stopped_calls(coflux::environment& env, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        auto o = co_await coflux::as_outcome(stopping_callee(env));
        EXPECT_TRUE(o.is_stopped());
    }
}
template <typename E>
coflux::call<void> many_when_alls(coflux::environment&, std::size_t n) {
    auto&& here = co_await coflux::context();
    for (std::size_t i = 0; i < n; ++i) {
        auto a = child<E>(here, i);
        auto b = child<E>(here, i);
        auto [x, y] = co_await coflux::when_all(std::move(a), std::move(b));
        EXPECT_EQ(x + y, 2 * i);
    }
}
coflux::call<void> many_joins(coflux::environment&, std::size_t n) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
    for (std::size_t i = 0; i < n; ++i) {
        child<noop>(sub, i).attach();
        co_await sub.join();
    }
}

using loop = coflux::call<void> (*)(coflux::environment&, std::size_t);

template <typename E>
coflux::task<void, E> run_loop(coflux::environment&, loop body, std::size_t n) {
    auto&& here = co_await coflux::context();
    co_await body(here, n);
}

/// On a thread that no executor knows, below a noop root; and on a pool's thread.
void expect_constant_stack(loop body, std::size_t n = ten_million) {
    run_on_small_stack([&] {
        auto env = coflux::make_environment();
        run_loop<noop>(env, body, n).get();
    });
    pool workers = pool_on_small_stacks(1);
    auto env = coflux::make_environment(workers);
    run_loop<pool>(env, body, n).get();
}

void expect_constant_stack_on_pool(loop body, std::size_t n = ten_million) {
    pool workers = pool_on_small_stacks(1);
    auto env = coflux::make_environment(workers);
    run_loop<pool>(env, body, n).get();
}

TEST(law_06_stack, ten_million_calls_in_a_loop_use_constant_stack) {
    expect_constant_stack(many_calls);
}
TEST(law_06_stack, ten_million_noop_forks_in_a_loop_use_constant_stack) {
    expect_constant_stack(many_forks<noop>);
}
TEST(law_06_stack, ten_million_pool_forks_in_a_loop_use_constant_stack) {
    expect_constant_stack_on_pool(many_forks<pool>);
}
TEST(law_06_stack, ten_million_yields_use_constant_stack) {
    expect_constant_stack(many_yields);
}
TEST(law_06_stack, ten_million_ready_noop_forks_use_constant_stack) {
    expect_constant_stack(many_ready_forks<noop>);
}
TEST(law_06_stack, ten_million_ready_pool_forks_use_constant_stack) {
    expect_constant_stack_on_pool(many_ready_forks<pool>);
}
TEST(law_06_stack, ten_million_ready_foreign_events_use_constant_stack) {
    expect_constant_stack(many_ready_events);
}
TEST(law_06_stack, ten_million_foreign_awaits_that_need_not_wait_use_constant_stack) {
    expect_constant_stack(many_almost_ready);
}
TEST(law_06_stack, ten_million_foreign_awaits_that_resume_at_once_use_constant_stack) {
    expect_constant_stack(many_resumed_at_once);
}
TEST(law_06_stack, ten_million_stopped_calls_use_constant_stack) {
    expect_constant_stack(many_stopped_calls);
}
TEST(law_06_stack, ten_million_stopped_noop_forks_use_constant_stack) {
    expect_constant_stack(many_stopped_forks<noop>);
}
TEST(law_06_stack, ten_million_stopped_pool_forks_use_constant_stack) {
    expect_constant_stack_on_pool(many_stopped_forks<pool>);
}
TEST(law_06_stack, ten_million_when_alls_over_noop_forks_use_constant_stack) {
    expect_constant_stack(many_when_alls<noop>);
}
TEST(law_06_stack, ten_million_when_alls_over_pool_forks_use_constant_stack) {
    expect_constant_stack_on_pool(many_when_alls<pool>);
}
TEST(law_06_stack, ten_million_joins_of_an_environment_use_constant_stack) {
    expect_constant_stack(many_joins);
}

}  // namespace
