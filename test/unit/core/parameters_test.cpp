#include <coflux/core/parameters.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "stage.hpp"
#include "support/executors.hpp"
#include "support/witness.hpp"

namespace {

using coflux::borrowed;
using coflux::environment;
using coflux_test::manual_executor;
using coflux_test::move_only;
using coflux_test::stage;
using noop = coflux::noop_executor;

struct object {};

static_assert(coflux::detail::environment_position<environment&, int> == 0);
static_assert(coflux::detail::environment_position<object&, environment&, int> == 1);
static_assert(coflux::detail::environment_position<int, environment&> == -1,
              "an int is no object of a member function");
static_assert(coflux::detail::environment_position<object&, int, environment&> == -1);
static_assert(coflux::detail::environment_position<const environment&> == -1);
static_assert(coflux::detail::environment_position<> == -1);

class incomplete;
static_assert(coflux::detail::environment_position<incomplete&, environment&> == 1);
static_assert(coflux::detail::environment_position<environment&, incomplete&> == 0);

/// The type behind a reference need not be complete.
coflux::call<incomplete*> address_of(incomplete& object) {
    co_return &object;
}

static_assert(coflux::detail::owns_itself<int>);
static_assert(coflux::detail::owns_itself<std::string>);
static_assert(coflux::detail::owns_itself<std::unique_ptr<int>>);
static_assert(coflux::detail::owns_itself<borrowed<int>>);
static_assert(!coflux::detail::owns_itself<int&>);
static_assert(!coflux::detail::owns_itself<const std::string&>);
static_assert(!coflux::detail::owns_itself<std::string&&>);
static_assert(!coflux::detail::owns_itself<std::string_view>);
static_assert(!coflux::detail::owns_itself<const std::u8string_view>);
static_assert(!coflux::detail::owns_itself<std::span<int>>);
static_assert(!coflux::detail::owns_itself<std::span<const int, 3>>);
static_assert(!coflux::detail::owns_itself<std::span<const int, 0>>);
static_assert(!coflux::detail::owns_itself<const std::initializer_list<int>>);
static_assert(!coflux::detail::owns_itself<std::ranges::ref_view<std::vector<int>>>);
static_assert(!coflux::detail::owns_itself<std::ranges::subrange<std::string::iterator>>);
static_assert(!coflux::detail::owns_itself<const std::ranges::subrange<const int*>>);
static_assert(coflux::detail::owns_itself<std::ranges::owning_view<std::vector<int>>>);
static_assert(coflux::detail::owns_itself<std::ranges::single_view<int>>);
static_assert(coflux::detail::owns_itself<std::ranges::iota_view<int, int>>, "its elements are made by it");
static_assert(coflux::detail::owns_itself<std::ranges::empty_view<int>>);
static_assert(coflux::detail::owns_itself<std::array<int, 2>>);

struct with_data {
    int value = 1;
};
struct lives_long : with_data {
    using outlives_its_coroutines = void;
};
struct inherits : lives_long {};
struct with_virtual_functions {
    virtual void run() {}
};
template <typename Derived>
struct mixin {};
struct mixed_in : mixin<mixed_in>, with_data {};
struct mixed_into_nothing : mixin<mixed_into_nothing> {};
struct never_completed;

static_assert(std::is_void_v<coflux::detail::object_of<environment&, with_data&>>);
static_assert(std::is_same_v<coflux::detail::object_of<const with_data&, environment&>, const with_data&>);
static_assert(coflux::detail::object_lives<void>);
static_assert(coflux::detail::object_lives<with_data>, "the frame has its own, as after `this auto self`");
static_assert(!coflux::detail::object_lives<with_data&>);
static_assert(!coflux::detail::object_lives<const with_data&>);
static_assert(!coflux::detail::object_lives<with_data&&>);
static_assert(!coflux::detail::object_lives<std::string_view>);
static_assert(!coflux::detail::object_lives<with_virtual_functions&>, "it refers to a table of functions");
static_assert(coflux::detail::object_lives<lives_long&>);
static_assert(coflux::detail::object_lives<const inherits&>);
static_assert(coflux::detail::object_lives<object&>, "there is nothing in it");
static_assert(!coflux::detail::object_lives<mixin<mixed_in>&>, "what has it as a base has data");
static_assert(coflux::detail::object_lives<mixin<mixed_into_nothing>&>);
static_assert(coflux::detail::object_lives<mixin<never_completed>&>);

static_assert(coflux::detail::borrows_any<lives_long&, environment&>);
static_assert(!coflux::detail::borrows_any<object&, environment&>);
static_assert(!coflux::detail::borrows_any<with_data, environment&>);
static_assert(!coflux::detail::borrows_any<environment&, with_data>);
static_assert(coflux::detail::borrows_any<environment&, borrowed<with_data>>);

struct alignas(128) aligned_widely {};

/// The frame has a pointer of each.
consteval bool may_be_referred_to() {
    coflux::detail::check_parameters<environment&, int (&)(int), const aligned_widely&>();
    return true;
}
static_assert(may_be_referred_to());

TEST(closures, are_distinguished_from_other_function_objects) {
    int x = 0;
    const auto captures = [&x] { return x; };
    const auto captures_not = [] {};
    struct holds {
        int x;
        int operator()() const { return x; }
    };
    EXPECT_TRUE(coflux::detail::is_capturing<decltype(captures)>);
    EXPECT_FALSE(coflux::detail::is_capturing<decltype(captures_not)>);
    EXPECT_FALSE(coflux::detail::is_capturing<holds>);
    EXPECT_FALSE(coflux::detail::is_capturing<int>);
}

TEST(borrowed, refers_to_what_it_was_made_from) {
    int x = 1;
    borrowed b(x);
    static_assert(std::is_same_v<decltype(b), borrowed<int>>);
    EXPECT_EQ(&b.get(), &x);
    *b = 2;
    EXPECT_EQ(x, 2);

    const std::string text = "text";
    const borrowed c(text);
    static_assert(std::is_same_v<decltype(c), const borrowed<const std::string>>);
    EXPECT_EQ(c->size(), 4U);
    const borrowed copy = c;
    EXPECT_EQ(&copy.get(), &text);
}

coflux::fork<int, manual_executor> sums(auto&&, std::string text, std::vector<int> numbers, move_only m,
                                        borrowed<std::array<int, 2>> lent) {
    co_await coflux::yield();
    int sum = static_cast<int>(text.size()) + *m.value;
    for (const int n : numbers) sum += n;
    for (int& n : *lent) sum += std::exchange(n, 0);
    co_return sum;
}

TEST(parameters, of_a_fork_are_its_own_unless_it_borrows) {
    stage<manual_executor> s;
    const auto root = [](environment&) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        std::array<int, 2> lent{100, 200};
        std::string text(10, 'a');
        std::vector<int> numbers{1, 2};
        auto f = sums(here, text, numbers, move_only(7), borrowed(lent));
        text.clear();
        numbers.clear();
        EXPECT_EQ(co_await std::move(f), 320);
        EXPECT_EQ(lent[0] + lent[1], 0);
    };
    s.run(root(s.env));
}

struct service {
    using outlives_its_coroutines = void;
    coflux::task<int, noop> ask(environment&, int x) { co_return x + value; }
    int value = 1;
};

TEST(parameters, of_a_member_function_begin_with_its_object) {
    stage<noop> s;
    service asked;
    EXPECT_EQ(s.run(asked.ask(s.env, 2)), 3);
}

TEST(parameters, may_refer_to_a_type_that_is_incomplete) {
    stage<noop> s;
    std::byte place{};
    auto& object = reinterpret_cast<incomplete&>(place);
    const auto root = [](environment&, borrowed<incomplete> of) -> coflux::task<bool, noop> {
        co_return co_await address_of(*of) == &of.get();
    };
    EXPECT_TRUE(s.run(root(s.env, borrowed(object))));
}

/// An environment object given by its own type, and a coroutine in it.
coflux::fork<int, noop> in_any(auto&&, int x) {
    co_return x;
}

TEST(parameters, take_every_kind_of_environment) {
    stage<noop> s;
    const auto root = [](environment&) -> coflux::task<int, noop> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        const int a = co_await in_any(here, 1);
        const int b = co_await in_any(sub, 2);
        co_await sub.join();
        co_return a + b;
    };
    EXPECT_EQ(s.run(root(s.env)), 3);
}

}  // namespace
