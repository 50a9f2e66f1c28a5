// Each block of the frame pool that holds a living frame says so, whatever its coroutine is and however it is counted;
// one whose frame is gone does not.
#include <coflux/core/detail/frame/frame.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/slab_blocks.hpp"

namespace {

using coflux::environment;
using coflux::detail::promise_base;
using coflux_test::manual_executor;

#define COFLUX_TEST_NEEDS_SLABS() \
    if (COFLUX_ASAN) GTEST_SKIP() << "the pool passes through to the heap under AddressSanitizer"

struct alignas(64) line {
    int value = 0;
};

struct seen {
    coflux::manual_reset_event go;
    std::vector<const void*> blocks;

    /// Notes the block of the coroutine that has this context, where its control begins in it, and checks the mark.
    void note(environment& here, std::size_t control_at) {
        const coflux::detail::frame_control* const c = &static_cast<promise_base&>(here).control();
        const void* const block = coflux_test::block_of(c);
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(static_cast<std::size_t>(reinterpret_cast<const char*>(c) - static_cast<const char*>(block)),
                  control_at);
        EXPECT_TRUE(coflux_test::has_mark_of_a_frame(block));
        const std::uint64_t word = static_cast<const std::uint64_t*>(block)[3];
        if (control_at == 0) {
            EXPECT_NE(word & 3, 0U);
        } else {
            EXPECT_EQ(word, coflux::detail::control_follows);
        }
        blocks.push_back(block);
    }
    void check_alive() const {
        for (const void* const b : blocks) EXPECT_TRUE(coflux_test::has_mark_of_a_frame(b));
    }
    void check_gone() const {
        for (const void* const b : blocks) EXPECT_FALSE(coflux_test::has_mark_of_a_frame(b));
    }
};

template <typename E>
coflux::fork<void, E> waits(environment&, seen* s) {
    auto&& here = co_await coflux::context();
    s->note(here, 0);
    co_await s->go.wait();
}
template <typename E>
coflux::fork<void, E> waits_with_a_line(environment&, seen* s, line l) {
    auto&& here = co_await coflux::context();
    s->note(here, 32);
    co_await s->go.wait();
    EXPECT_EQ(l.value, 7);
}
coflux::call<void> waits_in_a_call(environment&, seen* s) {
    auto&& here = co_await coflux::context();
    s->note(here, 0);
    co_await s->go.wait();
}
coflux::call<void> waits_without_environment(seen* s) {
    auto&& here = co_await coflux::context();
    s->note(here, 0);
    co_await s->go.wait();
}
template <typename E>
coflux::fork<void, E> awaits_calls(environment&, seen* s) {
    auto&& here = co_await coflux::context();
    co_await waits_in_a_call(here, s);
}
template <typename E>
coflux::fork<void, E> awaits_bare_calls(environment&, seen* s) {
    co_await waits_without_environment(s);
}
template <typename E>
coflux::fork<void, E> listed(environment&, seen* s) {
    auto&& here = co_await coflux::context();
    s->note(here, 32);
    co_await s->go.wait();
}
/// Makes a child of `above`, whose coroutine is suspended.
template <typename E>
coflux::fork<void, E> makes_a_sibling(environment&, environment* above, seen* s) {
    auto sibling = waits<E>(coflux::outer(*above), s);
    co_await std::move(sibling);
}

template <typename E>
coflux::task<void, E> root(environment&, seen* s) {
    auto&& here = co_await coflux::context();
    s->note(here, 32);
    auto derived = coflux::make_environment(here);
    auto a = waits<E>(here, s);
    auto b = waits_with_a_line<E>(here, s, line{7});
    auto c = awaits_calls<E>(here, s);
    auto d = awaits_bare_calls<E>(here, s);
    auto e = listed<E>(derived, s);
    auto f = makes_a_sibling<E>(here, &here, s);
    co_await coflux::when_all(std::move(a), std::move(b), std::move(c), std::move(d), std::move(e), std::move(f));
    co_await derived.join();
}

TEST(frame_mark, is_in_the_block_of_each_frame_that_lives_and_of_none_that_is_gone) {
    COFLUX_TEST_NEEDS_SLABS();
    manual_executor executor;
    auto env = coflux::make_environment(executor);
    seen s;
    {
        auto t = root<manual_executor>(env, &s);
        executor.run_all();
        EXPECT_EQ(s.blocks.size(), 7U);
        s.check_alive();
        s.go.set();
        executor.run_all();
        t.join();
    }
    s.check_gone();
}

TEST(frame_mark, is_there_where_a_coroutine_starts_in_the_call_that_makes_it) {
    COFLUX_TEST_NEEDS_SLABS();
    auto env = coflux::make_environment();
    seen s;
    {
        auto t = root<coflux::noop_executor>(env, &s);
        EXPECT_EQ(s.blocks.size(), 7U);
        s.check_alive();
        s.go.set();
        t.join();
    }
    s.check_gone();
}

}  // namespace
