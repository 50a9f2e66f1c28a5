#include <coflux/generator/generator.hpp>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/witness.hpp"

namespace {

using coflux::generator;
using coflux_test::journal;
using coflux_test::mortal;
using lines = std::vector<std::string>;

static_assert(std::ranges::input_range<generator<int>> && std::ranges::view<generator<int>>);
static_assert(std::ranges::input_range<generator<int&>> && std::ranges::view<generator<const int&>>);
static_assert(std::ranges::input_range<generator<std::unique_ptr<int>>>);
static_assert(!std::ranges::forward_range<generator<int>> && !std::copyable<generator<int>>);
static_assert(std::same_as<std::ranges::range_reference_t<generator<int>>, int&&>);
static_assert(std::same_as<std::ranges::range_reference_t<generator<int&>>, int&>);
static_assert(std::same_as<std::ranges::range_reference_t<generator<int&&>>, int&&>);
static_assert(std::same_as<std::ranges::range_reference_t<generator<const int&>>, const int&>);
static_assert(std::same_as<std::ranges::range_reference_t<generator<const int>>, const int&&>);
static_assert(std::same_as<std::ranges::range_value_t<generator<const int&>>, int>);

generator<int> count_to(int last) {
    for (int i = 1; i <= last; ++i) co_yield i;
}

template <typename T, typename G>
std::vector<T> all(G&& elements) {
    std::vector<T> taken;
    for (auto&& element : elements) taken.push_back(std::forward<decltype(element)>(element));
    return taken;
}

TEST(generator, gives_what_the_body_yields_in_its_order) {
    EXPECT_EQ(all<int>(count_to(4)), (std::vector{1, 2, 3, 4}));
    EXPECT_TRUE(all<int>(count_to(0)).empty());
}

TEST(generator, begins_at_begin_and_runs_no_further_than_the_element_that_is_asked_for) {
    lines log;
    auto logged = [](lines& to) -> generator<int> {
        to.emplace_back("first");
        co_yield 1;
        to.emplace_back("second");
        co_yield 2;
        to.emplace_back("end");
    };
    {
        auto elements = logged(log);
        EXPECT_TRUE(log.empty());
        auto it = elements.begin();
        EXPECT_EQ(log, (lines{"first"}));
        EXPECT_EQ(*it, 1);
        ++it;
        EXPECT_EQ(log, (lines{"first", "second"}));
        EXPECT_EQ(*it, 2);
    }
    EXPECT_EQ(log, (lines{"first", "second"}));
}

TEST(generator, works_with_the_views_of_the_standard) {
    auto odd_squares = count_to(100) | std::views::filter([](int i) { return i % 2 == 1; }) |
                       std::views::transform([](int i) { return i * i; }) | std::views::take(4);
    EXPECT_EQ(all<int>(odd_squares), (std::vector{1, 9, 25, 49}));
}

TEST(generator, lends_objects_for_change_by_reference) {
    std::vector<int> numbers{1, 2, 3};
    auto each = [](std::vector<int>& of) -> generator<int&> {
        for (int& n : of) co_yield n;
    };
    for (int& n : each(numbers)) n *= 10;
    EXPECT_EQ(numbers, (std::vector{10, 20, 30}));
}

TEST(generator, of_const_references_copies_nothing) {
    const std::string text = "text";
    auto lend = [](const std::string& of) -> generator<const std::string&> {
        co_yield of;
        co_yield std::string("temporary");
    };
    auto elements = lend(text);
    auto it = elements.begin();
    EXPECT_EQ(std::addressof(*it), std::addressof(text));
    ++it;
    EXPECT_EQ(*it, "temporary");
}

TEST(generator, gives_elements_that_can_only_be_moved) {
    auto by_object = []() -> generator<std::unique_ptr<int>> {
        co_yield std::make_unique<int>(1);
        auto second = std::make_unique<int>(2);
        co_yield std::move(second);
        EXPECT_EQ(second, nullptr);
    };
    auto by_rvalue = []() -> generator<std::unique_ptr<int>&&> {
        co_yield std::make_unique<int>(1);
        co_yield std::make_unique<int>(2);
    };
    const auto first = all<std::unique_ptr<int>>(by_object());
    const auto second = all<std::unique_ptr<int>>(by_rvalue());
    ASSERT_EQ(first.size(), 2U);
    ASSERT_EQ(second.size(), 2U);
    EXPECT_EQ(*first[1], 2);
    EXPECT_EQ(*second[1], 2);
}

TEST(generator, yields_a_copy_of_an_lvalue_where_elements_may_be_moved_from) {
    auto twice = []() -> generator<std::string> {
        std::string kept = "long enough to be on the heap";
        co_yield kept;
        co_yield std::as_const(kept);
        co_yield kept + "!";
        EXPECT_EQ(kept, "long enough to be on the heap");
    };
    EXPECT_EQ(all<std::string>(twice()), (lines{"long enough to be on the heap", "long enough to be on the heap",
                                                "long enough to be on the heap!"}));
}

TEST(generator, converts_what_it_yields) {
    auto texts = []() -> generator<std::string> { co_yield "literal"; };
    EXPECT_EQ(all<std::string>(texts()), (lines{"literal"}));
}

TEST(generator, throws_an_error_before_the_first_element_out_of_begin) {
    auto fails = []() -> generator<int> {
        throw std::runtime_error("none");
        co_yield 1;
    };
    auto elements = fails();
    EXPECT_THROW((void)elements.begin(), std::runtime_error);
    EXPECT_EQ(elements.begin(), elements.end());
}

TEST(generator, throws_an_error_after_an_element_out_of_the_increment_and_is_then_at_its_end) {
    journal log;
    auto fails = [](journal& in) -> generator<mortal&&> {
        const mortal local(in, "local");
        co_yield mortal(in, "element");
        throw std::runtime_error("after one");
    };
    {
        auto elements = fails(log);
        auto it = elements.begin();
        EXPECT_TRUE(log.lines().empty());
        EXPECT_THROW(++it, std::runtime_error);
        // Nothing of the last element is kept.
        EXPECT_EQ(log.lines(), (lines{"element dies", "local dies"}));
        EXPECT_EQ(it, std::default_sentinel);
        EXPECT_EQ(elements.begin(), elements.end());
    }
    EXPECT_EQ(log.lines().size(), 2U);
}

/// Its copies can fail, and are counted.
struct grudging {
    explicit grudging(bool fails, int& alive) : copy_fails(fails), count(&alive) { ++*count; }
    grudging(const grudging& other) : copy_fails(other.copy_fails), count(other.count) {
        if (copy_fails) throw std::runtime_error("copy");
        ++*count;
    }
    grudging& operator=(const grudging&) = delete;
    ~grudging() { --*count; }
    bool copy_fails;
    int* count;
};

TEST(generator, lets_its_body_catch_the_error_of_a_copy_that_it_yields) {
    int alive = 0;
    auto copies = [](int& count) -> generator<grudging> {
        const grudging bad(true, count);
        const grudging good(false, count);
        bool caught = false;
        try {
            co_yield bad;
        } catch (const std::runtime_error&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
        co_yield good;
        co_yield bad;
    };
    {
        auto elements = copies(alive);
        auto it = elements.begin();
        EXPECT_FALSE((*it).copy_fails);
        EXPECT_EQ(alive, 3);
        EXPECT_THROW(++it, std::runtime_error);
        EXPECT_EQ(alive, 0);
    }
    EXPECT_EQ(alive, 0);
}

TEST(generator, destroys_the_copy_of_an_lvalue_once_when_it_is_destroyed_half_way) {
    int alive = 0;
    auto copies = [](int& count) -> generator<grudging> {
        const grudging kept(false, count);
        for (;;) co_yield kept;
    };
    {
        auto elements = copies(alive);
        auto it = elements.begin();
        EXPECT_EQ(alive, 2);
        ++it;
        EXPECT_EQ(alive, 2);
    }
    EXPECT_EQ(alive, 0);
}

TEST(generator, destroyed_half_way_destroys_its_locals_and_its_element) {
    journal log;
    auto endless = [](journal& in) -> generator<mortal&&> {
        const mortal local(in, "local");
        for (;;) co_yield mortal(in, "element");
    };
    {
        auto elements = endless(log);
        auto it = elements.begin();
        ++it;
        EXPECT_EQ(log.lines(), (lines{"element dies"}));
    }
    EXPECT_EQ(log.lines(), (lines{"element dies", "element dies", "local dies"}));
}

TEST(generator, that_was_never_iterated_destroys_its_parameters) {
    journal log;
    auto owns = [](mortal) -> generator<int> { co_yield 1; };
    { auto elements = owns(mortal(log, "parameter")); }
    EXPECT_EQ(log.lines(), (lines{"parameter dies"}));
}

TEST(generator, goes_on_at_the_present_element_when_begin_is_called_again) {
    auto elements = count_to(4);
    auto it = elements.begin();
    ++it;
    EXPECT_EQ(*elements.begin(), 2);
    EXPECT_EQ(all<int>(elements), (std::vector{2, 3, 4}));
    EXPECT_TRUE(all<int>(elements).empty());
}

TEST(generator, stays_where_it_is_when_its_handle_is_moved) {
    auto elements = count_to(3);
    auto it = elements.begin();
    auto moved = std::move(elements);
    ++it;
    EXPECT_EQ(*moved.begin(), 2);
    moved = count_to(1);
    EXPECT_EQ(all<int>(moved), (std::vector{1}));
}

TEST(generator, can_be_read_by_the_iterator_alone) {
    auto elements = count_to(3);
    int sum = 0;
    for (auto it = elements.begin(); it != elements.end(); it++) sum += *it;
    EXPECT_EQ(sum, 6);
}

TEST(generator, of_const_objects_gives_them_for_reading) {
    auto constants = []() -> generator<const int> {
        const int kept = 1;
        co_yield kept;
        co_yield 2;
    };
    EXPECT_EQ(all<int>(constants()), (std::vector{1, 2}));
}

TEST(generator, can_have_generators_as_elements) {
    auto rows = []() -> generator<generator<int>> {
        co_yield count_to(2);
        co_yield count_to(3);
    };
    int total = 0;
    for (auto&& row : rows()) {
        for (const int n : row) total += n;
    }
    EXPECT_EQ(total, 9);
}

TEST(generator, is_destroyed_when_its_consumer_throws) {
    journal log;
    auto endless = [](journal& in) -> generator<int> {
        const mortal local(in, "local");
        for (;;) co_yield 1;
    };
    EXPECT_THROW(
        {
            for (const int n : endless(log)) throw std::runtime_error(std::to_string(n));
        },
        std::runtime_error);
    EXPECT_EQ(log.lines(), (lines{"local dies"}));
}

TEST(generator, feeds_a_coroutine_that_awaits_between_two_elements) {
    coflux::thread_pool_executor threads{2};
    auto env = coflux::make_environment(threads);
    using pool = coflux::thread_pool_executor;
    auto root = [](auto&&) -> coflux::task<int, pool> {
        auto&& here = co_await coflux::context();
        auto twice = [](auto&&, int n) -> coflux::fork<int, pool> { co_return 2 * n; };
        int total = 0;
        for (const int n : count_to(100)) total += co_await twice(here, n);
        co_return total;
    };
    EXPECT_EQ(root(env).get(), 10'100);
}

TEST(generator, dies_with_a_coroutine_that_is_stopped_while_it_iterates) {
    journal log;
    auto env = coflux::make_environment(coflux::noop_executor{});
    auto endless = [](journal& in) -> generator<int> {
        const mortal local(in, "local");
        for (;;) co_yield 1;
    };
    auto root = [](auto&&, auto make, journal* in) -> coflux::task<void, coflux::noop_executor> {
        for (const int n : make(*in)) {
            in->write(std::to_string(n));
            co_await coflux::this_coroutine::stop();
        }
    };
    root(env, endless, &log).join();
    EXPECT_EQ(log.lines(), (lines{"1", "local dies"}));
}

using generator_death = ::testing::Test;

TEST(generator_death, an_increment_at_the_end_is_a_checked_error) {
    auto elements = count_to(0);
    auto it = elements.begin();
    EXPECT_DEATH(++it, "a generator was incremented at its end");
}

TEST(generator_death, iteration_after_a_move_is_a_checked_error) {
    auto elements = count_to(1);
    auto moved = std::move(elements);
    EXPECT_DEATH((void)elements.begin(), "a generator was iterated after it was moved from");
}

}  // namespace
