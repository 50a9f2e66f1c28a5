// Which resources see every frame that goes back: all but those two that are known to do nothing with it.
#include <coflux/core/detail/frame/frame.hpp>

#include <array>
#include <cstddef>
#include <memory_resource>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

namespace {

using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;

/// Bumps a pointer, too, but wants to know what comes back.
class counting_monotonic : public std::pmr::monotonic_buffer_resource {
public:
    using monotonic_buffer_resource::monotonic_buffer_resource;

    std::size_t allocated = 0;
    std::size_t allocated_bytes = 0;
    std::size_t deallocated = 0;
    std::size_t deallocated_bytes = 0;

protected:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        ++allocated;
        allocated_bytes += bytes;
        return monotonic_buffer_resource::do_allocate(bytes, alignment);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        ++deallocated;
        deallocated_bytes += bytes;
        monotonic_buffer_resource::do_deallocate(block, bytes, alignment);
    }
};

coflux::call<int> adds_one(coflux::environment&, int x) {
    co_return x + 1;
}
template <typename E>
coflux::fork<int, E> forks_and_calls(coflux::environment&, int x) {
    auto&& here = co_await coflux::context();
    co_return co_await adds_one(here, x);
}
template <typename E>
coflux::fork<void, E> fails(coflux::environment&) {
    throw std::domain_error("on purpose");
    co_return;
}
template <typename E>
coflux::fork<void, E> stops(coflux::environment&) {
    co_await coflux::this_coroutine::stop();
}

/// Frames of every kind: forks and calls, awaited, viewed and left alone, of ends with values and without.
constexpr std::size_t frames_of_all_kinds = 1 + 4 * 2 + 2;
template <typename E>
coflux::task<int, E> makes_all_kinds(coflux::environment&) {
    auto&& here = co_await coflux::context();
    forks_and_calls<E>(here, 100).attach();
    auto awaited = forks_and_calls<E>(here, 1);
    auto asked = forks_and_calls<E>(here, 2);
    auto viewed = forks_and_calls<E>(here, 3);
    const coflux::fork_view<int> view = viewed.view();
    auto failed = fails<E>(here);
    auto stopped = stops<E>(here);
    int sum = co_await std::move(awaited);
    auto outcome = co_await coflux::as_outcome(std::move(asked));
    sum += std::move(outcome).value();
    sum += co_await view;
    const auto error = co_await coflux::as_outcome(std::move(failed));
    EXPECT_TRUE(error.has_error());
    const auto stop = co_await coflux::as_outcome(std::move(stopped));
    EXPECT_TRUE(stop.is_stopped());
    co_return sum;
}
constexpr int sum_of_all_kinds = 2 + 3 + 4;

/// The resources here are for one thread at a time.
template <typename E>
E with_one_worker() {
    if constexpr (std::is_same_v<E, pool>) {
        return pool(1);
    } else {
        return E();
    }
}

template <typename E>
class frame_resources : public testing::Test {};

struct executor_names {
    template <typename E>
    static const char* GetName(int) {
        return std::is_same_v<E, noop> ? "noop" : "pool";
    }
};
using executors = testing::Types<noop, pool>;
TYPED_TEST_SUITE(frame_resources, executors, executor_names);

TYPED_TEST(frame_resources, that_derive_from_a_known_one_see_every_frame) {
    std::array<std::byte, 64 * 1024> buffer;
    counting_monotonic memory(buffer.data(), buffer.size(), std::pmr::null_memory_resource());
    {
        auto env = coflux::make_environment(&memory, with_one_worker<TypeParam>());
        EXPECT_EQ(makes_all_kinds<TypeParam>(env).get(), sum_of_all_kinds);
    }
    EXPECT_EQ(memory.allocated, frames_of_all_kinds);
    EXPECT_EQ(memory.deallocated, memory.allocated);
    EXPECT_EQ(memory.deallocated_bytes, memory.allocated_bytes);
}

TYPED_TEST(frame_resources, that_derive_from_a_known_one_see_every_frame_of_a_subtree) {
    counting_monotonic memory;
    {
        auto env = coflux::make_environment(with_one_worker<TypeParam>());
        [](coflux::environment&, coflux::borrowed<counting_monotonic> of) -> coflux::task<void, TypeParam> {
            auto&& here = co_await coflux::context();
            auto sub = coflux::make_environment(here, &of.get());
            EXPECT_EQ(co_await makes_all_kinds<TypeParam>(sub), sum_of_all_kinds);
            co_await sub.join();
        }(env, coflux::borrowed(memory))
                                                                                 .get();
    }
    EXPECT_EQ(memory.allocated, frames_of_all_kinds);
    EXPECT_EQ(memory.deallocated, memory.allocated);
    EXPECT_EQ(memory.deallocated_bytes, memory.allocated_bytes);
}

TYPED_TEST(frame_resources, that_free_all_at_once_hold_frames_of_every_kind) {
    std::array<std::byte, 64 * 1024> buffer;
    // Nothing above it: a frame that lay elsewhere could not be had.
    std::pmr::monotonic_buffer_resource monotonic(buffer.data(), buffer.size(), std::pmr::null_memory_resource());
    coflux::counting_resource chunks;
    coflux::arena arena(1024, &chunks);
    for (std::pmr::memory_resource* const memory :
         {static_cast<std::pmr::memory_resource*>(&monotonic), static_cast<std::pmr::memory_resource*>(&arena)}) {
        for (int round = 0; round < 3; ++round) {
            auto env = coflux::make_environment(memory, with_one_worker<TypeParam>());
            EXPECT_EQ(makes_all_kinds<TypeParam>(env).get(), sum_of_all_kinds);
        }
    }
    EXPECT_GT(arena.used(), 3 * frames_of_all_kinds * 64);
    const std::size_t used = arena.used();
    arena.release();
    EXPECT_EQ(chunks.live(), 0U);
    // The arena's memory is taken anew, and the same frames need as much of it.
    for (int round = 0; round < 3; ++round) {
        auto env = coflux::make_environment(&arena, with_one_worker<TypeParam>());
        EXPECT_EQ(makes_all_kinds<TypeParam>(env).get(), sum_of_all_kinds);
    }
    EXPECT_EQ(arena.used(), used);
}

TYPED_TEST(frame_resources, of_a_subtree_see_frames_in_their_own_way_whatever_is_around_it) {
    counting_monotonic memory;
    coflux::arena arena;
    {
        auto env = coflux::make_environment(&arena, with_one_worker<TypeParam>());
        [](coflux::environment&, coflux::borrowed<counting_monotonic> of) -> coflux::task<void, TypeParam> {
            auto&& here = co_await coflux::context();
            auto sub = coflux::make_environment(here, &of.get());
            // Executors and deadline change, the memory stays: a plain environment below the counted one.
            auto below = coflux::make_environment(sub);
            EXPECT_EQ(co_await makes_all_kinds<TypeParam>(below), sum_of_all_kinds);
            co_await below.join();
            co_await sub.join();
            auto pooled = coflux::make_environment(here, &coflux::frame_pool::shared());
            EXPECT_EQ(co_await makes_all_kinds<TypeParam>(pooled), sum_of_all_kinds);
            co_await pooled.join();
            EXPECT_EQ(co_await makes_all_kinds<TypeParam>(here), sum_of_all_kinds);
        }(env, coflux::borrowed(memory))
                                                                                 .get();
    }
    EXPECT_EQ(memory.allocated, frames_of_all_kinds);
    EXPECT_EQ(memory.deallocated, memory.allocated);
    EXPECT_GT(arena.used(), 0U);
}

}  // namespace
