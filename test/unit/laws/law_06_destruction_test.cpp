// Law 6, at the end: frames that hold the last handle of other frames, 100 000 deep, are freed in constant stack.
#include <coflux/coflux.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "support/iterations.hpp"
#include "support/small_stack.hpp"

namespace {

using coflux::environment;
using coflux_test::run_on_small_stack;
using coflux_test::small_stacks_for_new_threads;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

// Where a level takes more time it takes more stack, too.
constexpr std::size_t depth = coflux_test::at_full_speed ? 100'000 : 5'000;

template <typename E>
coflux::fork<std::size_t, E> first(environment&) {
    co_return 0;
}

// --- each step keeps a view of the one before ------------------------------------------------------------------------

template <typename E>
coflux::fork<std::size_t, E> after_view(environment&, coflux::fork_view<std::size_t> before) {
    const std::size_t x = co_await before;
    co_return x + 1;
}
template <typename Root, typename E>
coflux::task<std::size_t, Root> views(environment&) {
    auto&& here = co_await coflux::context();
    auto last = first<E>(here);
    for (std::size_t i = 0; i < depth; ++i) {
        auto next = after_view<E>(here, last.view());
        last = std::move(next);
    }
    co_return co_await std::move(last);
}

// --- each keeps the handle of one that has ended, and does not await it ----------------------------------------------

template <typename E>
coflux::fork<std::size_t, E> keeps(environment&, std::optional<coflux::fork<std::size_t, E>>) {
    co_return depth;
}
template <typename E>
coflux::fork<std::size_t, E> waits_and_keeps(environment&, std::optional<coflux::fork<std::size_t, E>>) {
    co_await coflux::yield();
    co_return depth;
}
template <typename Root, typename E, auto Keeps>
coflux::task<std::size_t, Root> handles(environment&) {
    auto&& here = co_await coflux::context();
    auto last = first<E>(here);
    for (std::size_t i = 0; i < depth; ++i) {
        auto next = Keeps(here, std::move(last));
        last = std::move(next);
    }
    while (!last.done()) co_await coflux::yield();
    co_return co_await std::move(last);
}

template <auto Body>
void expect_to_work_on_a_pool() {
    const small_stacks_for_new_threads small;
    coflux::counting_resource frames;
    pool workers(1);
    {
        auto env = coflux::make_environment(&frames, workers);
        EXPECT_EQ(Body(env).get(), depth);
    }
    EXPECT_EQ(frames.live(), 0U);
}
template <auto Body>
void expect_to_work_without_an_executor() {
    run_on_small_stack([] {
        coflux::counting_resource frames;
        {
            auto env = coflux::make_environment(&frames);
            EXPECT_EQ(Body(env).get(), depth);
        }
        EXPECT_EQ(frames.live(), 0U);
    });
}

TEST(law_06_destruction, of_views_of_pool_forks) {
    expect_to_work_on_a_pool<views<pool, pool>>();
}
TEST(law_06_destruction, of_views_of_noop_forks) {
    expect_to_work_on_a_pool<views<pool, noop>>();
    expect_to_work_without_an_executor<views<noop, noop>>();
}
TEST(law_06_destruction, of_handles_of_pool_forks) {
    expect_to_work_on_a_pool<handles<pool, pool, keeps<pool>>>();
    expect_to_work_on_a_pool<handles<pool, pool, waits_and_keeps<pool>>>();
}
TEST(law_06_destruction, of_handles_of_noop_forks) {
    expect_to_work_on_a_pool<handles<pool, noop, keeps<noop>>>();
    expect_to_work_without_an_executor<handles<noop, noop, keeps<noop>>>();
}

// --- a destructor deep down that has a scope of its own --------------------------------------------------------------

/// Its destructor makes a scope with memory of its own, and drops the last handle there.
struct with_scope_inside {
    bool armed = true;
    explicit with_scope_inside() = default;
    with_scope_inside(with_scope_inside&& other) noexcept : armed(std::exchange(other.armed, false)) {}
    ~with_scope_inside() {
        if (!armed) return;
        coflux::arena memory(1024);
        auto env = coflux::make_environment(&memory);
        (void)first<noop>(env).done();
    }
};
template <typename E>
coflux::fork<std::size_t, E> with_scope_after(environment&, coflux::fork_view<std::size_t> before, with_scope_inside) {
    const std::size_t x = co_await before;
    co_return x + 1;
}
coflux::task<std::size_t, noop> scopes_inside(environment&) {
    auto&& here = co_await coflux::context();
    auto last = first<noop>(here);
    for (std::size_t i = 0; i < depth; ++i) {
        auto next = with_scope_after<noop>(here, last.view(), with_scope_inside());
        last = std::move(next);
    }
    co_return co_await std::move(last);
}

TEST(law_06_destruction, frees_what_a_scope_deep_down_made_before_its_memory_goes) {
    expect_to_work_without_an_executor<scopes_inside>();
}

}  // namespace
