// Law 5: frames come from the environment's resource, that of a call without one from the frame pool, and go back as
// soon as they are consumed; where one cannot be had, the call throws std::bad_alloc and nothing else has happened.
#include <coflux/coflux.hpp>

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/iterations.hpp"
#include "support/malloc_resource.hpp"

namespace {

using coflux::counting_resource;
using coflux_test::malloc_resource;
using coflux_test::ten_million;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

template <typename E>
coflux::fork<std::size_t, E> child(auto&&, std::size_t i) {
    co_return i;
}

coflux::call<std::size_t> callee(auto&&, std::size_t i) {
    co_return i;
}

/// Peak of the resource after a few rounds, when every kind of frame has existed once, and at the end.
struct peaks {
    std::size_t early = 0;
    std::size_t late = 0;
};

template <typename Root, typename Child>
coflux::task<peaks, Root> await_many(auto&&, std::size_t count, counting_resource* frames, Child make) {
    auto&& here = co_await coflux::context();
    coflux::environment& env = here;
    peaks seen;
    std::size_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
        sum += co_await make(env, i);
        if (i == 10) seen.early = frames->peak_bytes();
    }
    seen.late = frames->peak_bytes();
    EXPECT_EQ(sum, count * (count - 1) / 2);
    co_return seen;
}

template <typename Root, typename Child>
void expect_constant_memory(std::size_t count, pool& workers, Child make) {
    counting_resource frames;
    {
        auto env = coflux::make_environment(&frames, workers);
        const peaks seen = await_many<Root>(env, count, &frames, make).get();
        EXPECT_EQ(seen.early, seen.late);
        EXPECT_LT(seen.late, 4096U);
    }
    EXPECT_EQ(frames.live(), 0U);
    EXPECT_EQ(frames.allocations(), count + 1);
}

TEST(law_05_memory, ten_million_awaited_noop_forks_use_constant_memory) {
    pool workers(1);
    expect_constant_memory<noop>(ten_million, workers, child<noop, coflux::environment&>);
}

TEST(law_05_memory, ten_million_awaited_pool_forks_use_constant_memory) {
    pool workers(1);
    expect_constant_memory<pool>(ten_million, workers, child<pool, coflux::environment&>);
}

TEST(law_05_memory, ten_million_awaited_calls_use_constant_memory) {
    pool workers(1);
    expect_constant_memory<pool>(ten_million, workers, callee<coflux::environment&>);
}

coflux::call<std::size_t> bare_callee(std::size_t i) {
    co_return i;
}
coflux::task<void, pool> await_many_bare(auto&&, std::size_t count) {
    std::size_t sum = 0;
    std::size_t early = 0;
    for (std::size_t i = 0; i < count; ++i) {
        sum += co_await bare_callee(i);
        if (i == 10) early = coflux::frame_pool::shared().stats().slabs_acquired;
    }
    EXPECT_EQ(coflux::frame_pool::shared().stats().slabs_acquired, early);
    EXPECT_EQ(sum, count * (count - 1) / 2);
}

TEST(law_05_memory, ten_million_awaited_calls_without_environment_use_constant_memory_of_the_frame_pool) {
    pool workers(1);
    counting_resource frames;
    {
        auto env = coflux::make_environment(&frames, workers);
        await_many_bare(env, ten_million).join();
    }
    EXPECT_EQ(frames.live(), 0U);
    EXPECT_EQ(frames.allocations(), 1U) << "the root's frame";
}

TEST(law_05_memory, awaited_forks_use_constant_memory_when_another_worker_steals_them) {
    pool workers(2);
    counting_resource frames;
    {
        auto env = coflux::make_environment(&frames, workers);
        const peaks seen =
            await_many<pool>(env, coflux_test::race_rounds, &frames, child<pool, coflux::environment&>).get();
        EXPECT_LT(seen.late, 4096U);
    }
    EXPECT_EQ(frames.live(), 0U);
}

TEST(law_05_memory, a_frame_goes_back_when_its_result_is_taken) {
    counting_resource frames;
    auto env = coflux::make_environment(&frames);
    [](auto&&, counting_resource* memory) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        const std::size_t before = memory->live();
        auto a = child<noop>(here, 1);
        auto b = child<noop>(here, 2);
        auto c = child<noop>(here, 3);
        EXPECT_EQ(memory->live(), before + 3);
        co_await std::move(b);
        EXPECT_EQ(memory->live(), before + 2);
        co_await coflux::when_all(std::move(a), std::move(c));
        EXPECT_EQ(memory->live(), before);
        co_await callee(here, 4);
        EXPECT_EQ(memory->live(), before);
        auto o = co_await coflux::as_outcome(child<noop>(here, 5));
        EXPECT_EQ(memory->live(), before);
        child<noop>(here, 6).attach();
        EXPECT_EQ(memory->live(), before);
        auto kept = child<noop>(here, 7);
        {
            auto view = kept.view();
            co_await std::move(kept);
            EXPECT_EQ(memory->live(), before + 1);  // as long as a view may look at the value
        }
        EXPECT_EQ(memory->live(), before);
    }(env, &frames)
                                                 .get();
    EXPECT_EQ(frames.live(), 0U);
}

TEST(law_05_memory, ten_million_forks_left_to_a_long_scope_use_constant_memory) {
    pool workers(1);
    counting_resource frames;
    auto env = coflux::make_environment(&frames, workers);
    [](auto&&, std::size_t count, counting_resource* memory) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        for (std::size_t i = 0; i < count; ++i) child<noop>(here, i).attach();
        EXPECT_LT(memory->peak_bytes(), 4096U);
    }(env, ten_million, &frames)
                                                                    .get();
}

TEST(law_05_memory, a_derived_environment_takes_its_frames_from_its_own_resource) {
    counting_resource outer;
    counting_resource inner;
    auto env = coflux::make_environment(&outer);
    [](auto&&, counting_resource* below) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here, below);
        auto f = child<noop>(sub, 1);
        EXPECT_EQ(below->live(), 1U);
        // Whatever is made below takes from there too.
        co_await [](auto&&, counting_resource* memory) -> coflux::fork<void, noop> {
            auto&& deeper = co_await coflux::context();
            auto g = child<noop>(deeper, 2);
            EXPECT_EQ(memory->live(), 3U);
            co_await std::move(g);
        }(sub, below);
        co_await std::move(f);
        EXPECT_EQ(below->live(), 0U);
        co_await sub.join();
    }(env, &inner)
                                                .get();
    EXPECT_EQ(outer.allocations(), 1U);
    EXPECT_EQ(inner.allocations(), 3U);
}

// --- no memory -----------------------------------------------------------------------------------------------------

coflux::fork<std::size_t, pool> small_tree(coflux::environment&, int depth) {
    if (depth == 0) co_return 1;
    auto&& here = co_await coflux::context();
    auto a = small_tree(here, depth - 1);
    a.on_value([](std::size_t) {});
    auto b = child<noop>(here, 1);
    const std::size_t called = co_await callee(here, 1);
    std::vector<coflux::fork<std::size_t, pool>> more;
    more.reserve(2);
    more.push_back(small_tree(here, depth - 1));
    more.push_back(child<pool>(here, 1));
    std::size_t sum = called;
    for (const std::size_t x : co_await coflux::when_all(std::move(more))) sum += x;
    auto [x, y] = co_await coflux::when_all(std::move(a), std::move(b));
    co_return sum + x + y;
}

coflux::task<std::size_t, pool> tree_root(auto&&) {
    auto&& here = co_await coflux::context();
    co_return co_await small_tree(here, 2);
}

TEST(law_05_memory, a_frame_that_cannot_be_had_anywhere_in_a_tree_is_bad_alloc_and_leaves_nothing) {
    for (const std::size_t threads : {1U, 2U}) {
        pool workers(threads);
        bool failed = true;
        std::size_t n = 0;
        while (failed) {
            ++n;
            ASSERT_LT(n, 1000U);
            malloc_resource memory;
            counting_resource frames(&memory);
            {
                auto env = coflux::make_environment(&frames, workers);
                frames.fail_at(n);
                try {
                    const std::size_t leaves = tree_root(env).get();
                    frames.fail_at(0);
                    failed = false;
                    EXPECT_EQ(leaves, 13U);
                } catch (const std::bad_alloc&) {
                    failed = true;
                }
            }
            ASSERT_EQ(frames.live(), 0U) << "allocation " << n << ", " << threads << " threads";
        }
        EXPECT_GT(n, 20U);
    }
}

TEST(law_05_memory, a_call_that_cannot_have_a_frame_throws_before_anything_else_happens) {
    counting_resource frames;
    auto env = coflux::make_environment(&frames);
    [](auto&&, counting_resource* memory) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        memory->fail_at(1);
        EXPECT_THROW((void)child<noop>(here, 1), std::bad_alloc);
        auto f = child<noop>(here, 2);
        EXPECT_EQ(co_await std::move(f), 2U);
    }(env, &frames)
                                                 .get();
    EXPECT_EQ(frames.live(), 0U);
}

}  // namespace
