// Where the frames of generators come from, and that they go back.
#include <coflux/generator/generator.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/malloc_resource.hpp"
#include "support/witness.hpp"

namespace {

using coflux::counting_resource;
using coflux::generator;

struct frames : ::testing::Test {
    coflux_test::malloc_resource heap;
    counting_resource counted{&heap};

    ~frames() override { EXPECT_EQ(counted.live(), 0U); }
};

template <typename G>
int sum(G&& elements) {
    int total = 0;
    for (int n : elements) total += n;
    return total;
}

generator<int> in_environment(auto&&, int last) {
    for (int i = 1; i <= last; ++i) co_yield i;
}
generator<int> in_resource(std::pmr::memory_resource*, int last) {
    for (int i = 1; i <= last; ++i) co_yield i;
}
template <typename A>
generator<int> in_allocator(std::allocator_arg_t, A, int last) {
    for (int i = 1; i <= last; ++i) co_yield i;
}
struct object {
    generator<int> in_environment(coflux::environment&, int last) const { co_yield last + plus; }
    generator<int> in_resource(std::pmr::memory_resource*, int last) const { co_yield last + plus; }
    template <typename A>
    generator<int> in_allocator(std::allocator_arg_t, A, int last) const {
        co_yield last + plus;
    }
    int plus;
};

/// Stateful and stricter than the frame need be; counts the bytes that are out.
template <typename T>
struct stateful {
    using value_type = T;
    explicit stateful(std::ptrdiff_t& b) noexcept : bytes(&b) {}
    template <typename U>
    stateful(const stateful<U>& other) noexcept : bytes(other.bytes) {}
    T* allocate(std::size_t n) {
        *bytes += static_cast<std::ptrdiff_t>(n * sizeof(T));
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* block, std::size_t n) noexcept {
        *bytes -= static_cast<std::ptrdiff_t>(n * sizeof(T));
        std::allocator<T>().deallocate(block, n);
    }
    friend bool operator==(const stateful&, const stateful&) = default;
    std::ptrdiff_t* bytes;
};

TEST_F(frames, come_from_the_environment_that_is_the_first_parameter) {
    auto env = coflux::make_environment(&counted, coflux::noop_executor{});
    const std::size_t before = counted.allocations();
    EXPECT_EQ(sum(in_environment(env, 3)), 6);
    EXPECT_EQ(sum(object{1}.in_environment(env, 3)), 4);
    EXPECT_EQ(counted.allocations() - before, 2U);
}

TEST_F(frames, come_from_the_context_of_a_coroutine) {
    auto env = coflux::make_environment(&counted, coflux::noop_executor{});
    auto root = [](auto&&, counting_resource* from) -> coflux::task<int, coflux::noop_executor> {
        auto&& here = co_await coflux::context();
        const std::size_t before = from->allocations();
        auto elements = in_environment(here, 3);
        EXPECT_EQ(from->allocations() - before, 1U);
        co_return sum(elements);
    };
    EXPECT_EQ(root(env, &counted).get(), 6);
}

TEST_F(frames, come_from_a_memory_resource_that_leads_the_parameters) {
    EXPECT_EQ(sum(in_resource(&counted, 3)), 6);
    EXPECT_EQ(sum(object{1}.in_resource(&counted, 3)), 4);
    EXPECT_EQ(counted.allocations(), 2U);
    EXPECT_EQ(sum(in_resource(nullptr, 3)), 6);
}

TEST_F(frames, come_from_an_allocator_that_is_kept_with_the_frame) {
    std::ptrdiff_t bytes = 0;
    {
        auto elements = in_allocator(std::allocator_arg, stateful<char>(bytes), 3);
        EXPECT_GT(bytes, 0);
        EXPECT_EQ(sum(elements), 6);
        EXPECT_EQ(sum(object{1}.in_allocator(std::allocator_arg, stateful<char>(bytes), 3)), 4);
    }
    EXPECT_EQ(bytes, 0);
    EXPECT_EQ(sum(in_allocator(std::allocator_arg, std::allocator<char>(), 3)), 6);
}

TEST_F(frames, come_from_the_resource_of_a_polymorphic_allocator) {
    EXPECT_EQ(sum(in_allocator(std::allocator_arg, std::pmr::polymorphic_allocator<>(&counted), 3)), 6);
    EXPECT_EQ(counted.allocations(), 1U);
}

TEST_F(frames, take_no_memory_for_an_element) {
    auto elements = in_resource(&counted, 1000);
    EXPECT_EQ(sum(elements), 500'500);
    EXPECT_EQ(counted.allocations(), 1U);
}

TEST_F(frames, of_a_sub_generator_go_back_when_it_has_been_yielded) {
    auto outer = [](std::pmr::memory_resource* from, counting_resource& seen) -> generator<int> {
        co_yield in_resource(from, 2);
        EXPECT_EQ(seen.live(), 1U);
        co_yield coflux::elements_of(std::vector<int>(1, 3));
        EXPECT_EQ(seen.live(), 1U);
    };
    EXPECT_EQ(sum(outer(&counted, counted)), 6);
    EXPECT_EQ(counted.allocations(), 3U);  // itself, the sub-generator, the one that iterates the vector
}

TEST_F(frames, of_a_sub_generator_go_back_before_its_error_is_seen) {
    auto fails = [](std::pmr::memory_resource*) -> generator<int> {
        co_yield 1;
        throw std::runtime_error("sub");
    };
    auto outer = [](auto& inner, counting_resource& from) -> generator<int> {
        try {
            co_yield inner(&from);
        } catch (const std::runtime_error&) {
            EXPECT_EQ(from.live(), 0U);
        }
        co_yield inner(&from);
    };
    auto elements = outer(fails, counted);
    auto it = elements.begin();
    EXPECT_EQ(counted.live(), 1U);
    EXPECT_EQ(*++it, 1);
    EXPECT_THROW(++it, std::runtime_error);
    EXPECT_EQ(counted.live(), 0U);
}

TEST_F(frames, go_back_at_every_point_where_a_generator_is_destroyed) {
    auto outer = [](std::pmr::memory_resource* from) -> generator<int> {
        co_yield 0;
        co_yield in_resource(from, 2);
        co_yield 3;
    };
    for (int stop = 0; stop <= 5; ++stop) {
        auto elements = outer(&counted);
        auto it = elements.begin();
        for (int i = 0; i < stop && it != elements.end(); ++i) {
            if (++it == elements.end()) break;
        }
    }
    EXPECT_EQ(counted.live(), 0U);
}

TEST_F(frames, that_cannot_be_had_throw_out_of_the_call_without_effect) {
    coflux_test::journal log;
    auto owns = [](std::pmr::memory_resource*, coflux_test::mortal) -> generator<int> { co_yield 1; };
    counted.fail_at(1);
    EXPECT_THROW((void)owns(&counted, coflux_test::mortal(log, "argument")), std::bad_alloc);
    EXPECT_EQ(log.lines(), (std::vector<std::string>{"argument dies"}));
}

TEST_F(frames, that_cannot_be_had_for_a_sub_generator_throw_in_the_generator_that_wants_it) {
    auto outer = [](counting_resource& from) -> generator<int> {
        from.fail_at(1);
        bool caught = false;
        try {
            co_yield in_resource(&from, 2);
        } catch (const std::bad_alloc&) {
            caught = true;
        }
        co_yield caught ? 1 : 0;
    };
    EXPECT_EQ(sum(outer(counted)), 1);
}

TEST_F(frames, are_aligned_as_their_locals_want_wherever_they_come_from) {
    auto check = [](auto... source) {
        auto body = [](auto...) -> generator<bool> {
            const coflux_test::over_aligned local(1);
            co_yield local.is_aligned();
        };
        for (bool aligned : body(source...)) EXPECT_TRUE(aligned);
    };
    std::ptrdiff_t bytes = 0;
    check();
    check(static_cast<std::pmr::memory_resource*>(&counted));
    check(std::allocator_arg, stateful<char>(bytes));
    EXPECT_EQ(bytes, 0);
}

}  // namespace
