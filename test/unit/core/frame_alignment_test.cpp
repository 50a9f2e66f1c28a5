// Over-aligned parameters and locals lie where their type wants them, whatever kind of coroutine they are in, wherever
// it is made and whatever memory its frame is from.
#include <coflux/memory/detail/frame_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <type_traits>
#include <utility>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

namespace {

using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;

/// The compiler takes the alignment of an object for granted, and the answer to a question about it for a constant. So
/// the address goes through a function that it does not see into.
COFLUX_NOINLINE bool is_multiple(const volatile void* address, std::size_t of) {
    auto bits = reinterpret_cast<std::uintptr_t>(address);
    asm volatile("" : "+r"(bits), "+r"(of));
    return bits % of == 0;
}

template <std::size_t Alignment>
struct alignas(Alignment) wide {
    explicit wide(int v) noexcept : value(v) {}
    wide(wide&& other) noexcept : value(std::exchange(other.value, -1)) {}
    int value;
};

/// Sum of the values, or less than 0 if an object is wrongly aligned.
template <std::size_t Alignment>
int checked(const wide<Alignment>& parameter, const wide<Alignment>& local) {
    if (!is_multiple(&parameter, Alignment)) return -1000;
    if (!is_multiple(&local, Alignment)) return -2000;
    return parameter.value + local.value;
}

// Each with a word before the wide objects that would break their alignment, and with a suspension that all of them
// live across: else the compiler may keep them on the stack.
template <std::size_t Alignment, typename E>
coflux::fork<int, E> in_fork(coflux::environment&, int add, wide<Alignment> parameter) {
    const wide<Alignment> local(add);
    co_await coflux::yield();
    co_return checked(parameter, local);
}
template <std::size_t Alignment, typename E>
coflux::fork<int, E> in_fork_that_ends_at_once(coflux::environment&, int add, wide<Alignment> parameter) {
    const wide<Alignment> local(add);
    co_return checked(parameter, local);
}
template <std::size_t Alignment>
coflux::call<int> in_call(coflux::environment&, int add, wide<Alignment> parameter) {
    const wide<Alignment> local(add);
    co_await coflux::yield();
    co_return checked(parameter, local);
}
/// A parameter that needs nothing: what g++ makes of it is its own to find out.
template <std::size_t Alignment>
coflux::call<int> in_call_with_a_local(coflux::environment&, char start) {
    const wide<Alignment> local(start);
    const char* const volatile first = &start;
    co_await coflux::yield();
    co_return checked(local, local) - *first;
}
template <std::size_t Alignment, typename E>
coflux::task<int, E> in_inner_task(coflux::environment&, int add, wide<Alignment> parameter) {
    const wide<Alignment> local(add);
    co_await coflux::yield();
    co_return checked(parameter, local);
}

/// A root, itself with wide objects, makes one of each kind in its own environment and in a derived one.
template <std::size_t Alignment, typename E>
coflux::task<int, E> makes_all_kinds(coflux::environment&, int add, wide<Alignment> parameter) {
    using w = wide<Alignment>;
    const w local(add);
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
    for (coflux::environment* const in : {&here, static_cast<coflux::environment*>(&sub)}) {
        for (int round = 0; round < 3; ++round) {
            // Several at a time, so that not all of them take the one block that is free.
            auto first = in_fork<Alignment, E>(*in, 1, w(10));
            auto second = in_fork_that_ends_at_once<Alignment, E>(*in, 2, w(20));
            auto third = in_inner_task<Alignment, E>(*in, 3, w(30));
            EXPECT_EQ(co_await in_call<Alignment>(*in, 4, w(40)), 44);
            EXPECT_EQ(co_await in_call_with_a_local<Alignment>(*in, 5), 5);
            EXPECT_EQ(co_await std::move(first), 11);
            EXPECT_EQ(co_await std::move(second), 22);
            EXPECT_EQ(co_await std::move(third), 33);
        }
    }
    co_await sub.join();
    co_return checked(parameter, local);
}

template <std::size_t Alignment, typename E>
struct in {
    static constexpr std::size_t alignment = Alignment;
    using executor = E;
};

template <typename In>
class frame_alignment : public testing::Test {
protected:
    static constexpr std::size_t alignment = In::alignment;
    using executor = typename In::executor;

    /// Some of the resources are for one thread at a time.
    static executor with_one_worker() {
        if constexpr (std::is_same_v<executor, pool>) {
            return pool(1);
        } else {
            return executor();
        }
    }

    /// In a root, and in what it makes.
    static void expect_right_places(std::pmr::memory_resource* memory) {
        auto env = coflux::make_environment(memory, with_one_worker());
        for (int round = 0; round < 3; ++round) {
            EXPECT_EQ((makes_all_kinds<alignment, executor>(env, 5, wide<alignment>(50)).get()), 55);
        }
    }
};

struct names {
    template <typename In>
    static std::string GetName(int) {
        return std::string(std::is_same_v<typename In::executor, noop> ? "noop_" : "pool_") +
               std::to_string(In::alignment);
    }
};
using alignments = testing::Types<in<8, noop>, in<16, noop>, in<32, noop>, in<64, noop>, in<32, pool>, in<64, pool>>;
TYPED_TEST_SUITE(frame_alignment, alignments, names);

TYPED_TEST(frame_alignment, is_kept_in_frames_from_the_frame_pool) {
    this->expect_right_places(&coflux::frame_pool::shared());
}

TYPED_TEST(frame_alignment, is_kept_in_frames_from_operator_new) {
    this->expect_right_places(std::pmr::new_delete_resource());
}

TYPED_TEST(frame_alignment, is_kept_in_frames_that_are_counted) {
    coflux::counting_resource above_new(std::pmr::new_delete_resource());
    this->expect_right_places(&above_new);
    EXPECT_GT(above_new.allocations(), 0U);
    EXPECT_EQ(above_new.live(), 0U);
    EXPECT_EQ(above_new.live_bytes(), 0U);
}

TYPED_TEST(frame_alignment, is_asked_of_the_resource) {
    /// Gives a block no better alignment than it was asked for.
    class exactly final : public std::pmr::memory_resource {
        void* do_allocate(std::size_t bytes, std::size_t alignment) override {
            // Twice as much room, so that the block begins at an odd multiple of what was asked for.
            auto* const block = static_cast<std::byte*>(upstream->allocate(bytes + alignment, 2 * alignment));
            return block + alignment;
        }
        void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
            upstream->deallocate(static_cast<std::byte*>(block) - alignment, bytes + alignment, 2 * alignment);
        }
        bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

        std::pmr::memory_resource* const upstream = std::pmr::new_delete_resource();
    };
    exactly memory;
    this->expect_right_places(&memory);
}

TYPED_TEST(frame_alignment, is_kept_in_an_arena) {
    coflux::arena arena;
    this->expect_right_places(&arena);
}

}  // namespace
