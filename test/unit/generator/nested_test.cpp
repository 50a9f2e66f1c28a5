// Generators that yield generators.
#include <coflux/generator/generator.hpp>

#include <cstddef>
#include <list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/small_stack.hpp"
#include "support/witness.hpp"

namespace {

using coflux::elements_of;
using coflux::generator;
using coflux_test::journal;
using coflux_test::mortal;
using lines = std::vector<std::string>;

generator<int> from_to(int first, int last) {
    for (int i = first; i <= last; ++i) co_yield i;
}

template <typename G>
std::vector<int> all(G&& elements) {
    std::vector<int> taken;
    for (auto&& element : elements) taken.push_back(element);
    return taken;
}

TEST(nested_generator, yields_the_elements_of_a_sub_generator_in_its_place) {
    auto outer = []() -> generator<int> {
        co_yield 0;
        co_yield from_to(1, 2);
        auto kept = from_to(3, 4);
        co_yield std::move(kept);
        co_yield elements_of(from_to(5, 6));
        co_yield from_to(1, 0);
        co_yield 7;
    };
    EXPECT_EQ(all(outer()), (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(nested_generator, yields_a_sub_generator_that_was_begun_from_its_present_element) {
    auto outer = []() -> generator<int> {
        auto sub = from_to(1, 4);
        auto it = sub.begin();
        ++it;
        co_yield std::move(sub);
    };
    EXPECT_EQ(all(outer()), (std::vector{2, 3, 4}));
}

TEST(nested_generator, takes_over_a_sub_generator_that_stands_in_one_of_its_own) {
    auto inner = []() -> generator<int> {
        co_yield from_to(1, 3);
        co_yield from_to(4, 5);
    };
    auto outer = [](auto make) -> generator<int> {
        auto sub = make();
        auto it = sub.begin();
        ++it;
        co_yield std::move(sub);
        co_yield 6;
    };
    EXPECT_EQ(all(outer(inner)), (std::vector{2, 3, 4, 5, 6}));
}

TEST(nested_generator, yields_nothing_of_a_sub_generator_that_has_ended) {
    auto outer = []() -> generator<int> {
        auto sub = from_to(1, 2);
        for (int i : sub) (void)i;
        co_yield std::move(sub);
        co_yield 3;
    };
    EXPECT_EQ(all(outer()), (std::vector{3}));
}

TEST(nested_generator, yields_the_elements_of_any_range) {
    auto outer = []() -> generator<int> {
        std::vector<int> numbers{1, 2};
        co_yield elements_of(numbers);
        numbers.push_back(3);
        co_yield elements_of(std::list<long>(2, 4));
        auto sub = from_to(5, 6);
        co_yield elements_of(sub);
        EXPECT_EQ(sub.begin(), sub.end());
    };
    EXPECT_EQ(all(outer()), (std::vector{1, 2, 4, 4, 5, 6}));
}

TEST(nested_generator, lends_references_out_of_a_sub_generator) {
    std::vector<int> numbers{1, 2};
    auto each = [](std::vector<int>& of) -> generator<int&> { co_yield elements_of(of); };
    auto outer = [](auto& inner, std::vector<int>& of) -> generator<int&> { co_yield inner(of); };
    for (int& n : outer(each, numbers)) n += 1;
    EXPECT_EQ(numbers, (std::vector{2, 3}));
}

TEST(nested_generator, throws_the_error_of_a_sub_generator_in_the_frame_that_yielded_it) {
    journal log;
    auto fails = [](journal& in) -> generator<int> {
        const mortal local(in, "sub");
        co_yield 1;
        throw std::runtime_error("sub");
    };
    auto outer = [](auto& inner, journal& in) -> generator<int> {
        try {
            co_yield inner(in);
        } catch (const std::runtime_error& e) {
            in.write(std::string("caught ") + e.what());
        }
        co_yield 2;
        co_yield inner(in);
        co_yield 3;
    };
    auto elements = outer(fails, log);
    auto it = elements.begin();
    EXPECT_EQ(*it, 1);
    ++it;
    EXPECT_EQ(log.lines(), (lines{"sub dies", "caught sub"}));
    EXPECT_EQ(*it, 2);
    ++it;
    EXPECT_EQ(*it, 1);
    EXPECT_THROW(++it, std::runtime_error);
    EXPECT_EQ(it, std::default_sentinel);
}

TEST(nested_generator, throws_the_error_of_a_sub_generator_before_its_first_element_in_the_same_frame) {
    auto fails = []() -> generator<int> {
        throw std::runtime_error("at once");
        co_yield 0;
    };
    auto outer = [](auto& inner) -> generator<int> {
        bool caught = false;
        try {
            co_yield inner();
        } catch (const std::runtime_error&) {
            caught = true;
        }
        co_yield caught ? 1 : 0;
    };
    EXPECT_EQ(all(outer(fails)), (std::vector{1}));
}

TEST(nested_generator, passes_an_error_through_every_level_that_does_not_catch_it) {
    struct local {
        static generator<int> level(int n, int catches, int& passed) {
            if (n == 0) throw std::runtime_error("bottom");
            bool caught = false;
            try {
                co_yield level(n - 1, catches, passed);
            } catch (const std::runtime_error&) {
                ++passed;
                if (n != catches) throw;
                caught = true;
            }
            if (caught) co_yield n;
        }
    };
    int passed = 0;
    EXPECT_EQ(all(local::level(5, 3, passed)), (std::vector{3}));
    EXPECT_EQ(passed, 3);
}

TEST(nested_generator, destroyed_half_way_destroys_its_bodies_from_the_innermost_out) {
    journal log;
    struct local {
        static generator<int> level(int n, journal& in) {
            const mortal here(in, std::to_string(n));
            if (n < 3) co_yield level(n + 1, in);
            co_yield n;
        }
    };
    {
        auto elements = local::level(1, log);
        EXPECT_EQ(*elements.begin(), 3);
    }
    EXPECT_EQ(log.lines(), (lines{"3 dies", "2 dies", "1 dies"}));
}

generator<int> countdown(int from) {
    co_yield from;
    if (from > 0) co_yield countdown(from - 1);
}

constexpr int deep = 100'000;

TEST(nested_generator, recurses_a_hundred_thousand_deep_in_constant_stack) {
    coflux_test::run_on_small_stack([] {
        int expected = deep;
        for (int n : countdown(deep)) {
            if (n != expected--) FAIL() << n;
        }
        EXPECT_EQ(expected, -1);
    });
}

TEST(nested_generator, is_destroyed_a_hundred_thousand_deep_in_constant_stack) {
    coflux_test::run_on_small_stack([] {
        auto elements = countdown(deep);
        auto it = elements.begin();
        while (*it != 0) ++it;
        EXPECT_NE(it, std::default_sentinel);
    });
}

TEST(nested_generator, passes_an_error_up_a_hundred_thousand_levels_in_constant_stack) {
    struct local {
        static generator<int> level(int n) {
            if (n > 0) co_yield level(n - 1);
            throw std::runtime_error("bottom");
        }
    };
    coflux_test::run_on_small_stack([] {
        auto elements = local::level(static_cast<int>(coflux_test::repetitions(deep)));
        EXPECT_THROW((void)elements.begin(), std::runtime_error);
    });
}

}  // namespace
