// Every kind of result, from every kind of coroutine, through every combinator, with the n-th copy or move of it
// throwing for every n: each object dies once, no frame stays, and what was thrown arrives.
#include <coflux/combine/when_all.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/odd_results.hpp"

namespace {

using coflux_test::call_of;
using coflux_test::fork_of;
using coflux_test::ledger;
using coflux_test::number_of;
using coflux_test::odd;
using coflux_test::task_of;
using pool = coflux::thread_pool_executor;

enum class source { fork, task, call, view };

/// Views that live on: what a view gives is there as long as one does.
template <typename T>
using views = std::vector<coflux::fork_view<T>>;

template <typename T, source From>
auto made(coflux::environment& here, int yields, [[maybe_unused]] views<T>& kept) {
    if constexpr (From == source::fork) {
        return fork_of<T, pool>(here, yields);
    } else if constexpr (From == source::task) {
        return task_of<T, pool>(here, yields);
    } else if constexpr (From == source::call) {
        return call_of<T>(here, yields);
    } else {
        return kept.emplace_back(fork_of<T, pool>(here, yields).view());
    }
}
template <typename T, source From>
auto two_made(coflux::environment& here, int yields, views<T>& kept) {
    std::vector<decltype(made<T, From>(here, yields, kept))> both;
    both.reserve(2);
    both.push_back(made<T, From>(here, yields, kept));
    both.push_back(made<T, From>(here, yields, kept));
    return both;
}

enum class way {
    all,
    all_of_range,
    all_outcomes,
    all_outcomes_of_range,
    any,
    any_of_range,
    race,
    first_success,
    some,
    timeout,
    deadline,
    for_each,
    scope,
    shielded,
    last = shielded
};
/// Their errors are dropped once there is a value, or the values before anything is made of them.
bool may_drop_errors(way how) {
    return how == way::first_success || how == way::for_each;
}

int both_numbers(int a, int b) {
    return a < b ? a : b;
}

/// 1: the right value, 0: a wrong one; -1: an error as an outcome.
template <typename T, source From>
coflux::task<int, pool> combines(coflux::environment&, way how, int yields) {
    using value = std::remove_const_t<T>;
    const auto right = [](const value& v) { return v.is_right() ? 1 : 0; };
    views<T> kept;
    const auto in_an_hour = coflux::clock::now() + std::chrono::hours(1);
    auto&& here = co_await coflux::context();
    switch (how) {
    case way::all: {
        const auto r = co_await coflux::when_all(made<T, From>(here, yields, kept), made<T, From>(here, yields, kept));
        co_return both_numbers(right(std::get<0>(r)), right(std::get<1>(r)));
    }
    case way::all_outcomes: {
        const auto r =
            co_await coflux::when_all_outcomes(made<T, From>(here, yields, kept), made<T, From>(here, yields, kept));
        co_return both_numbers(number_of(std::get<0>(r)), number_of(std::get<1>(r)));
    }
    case way::any: {
        const auto r = co_await coflux::when_any(made<T, From>(here, yields, kept), made<T, From>(here, yields, kept));
        co_return std::visit([&](const auto& v) { return right(v); }, r);
    }
    case way::race: {
        auto&& r = co_await coflux::race(made<T, From>(here, yields, kept), made<T, From>(here, yields, kept));
        co_return right(r);
    }
    case way::first_success: {
        auto&& r = co_await coflux::first_success(made<T, From>(here, yields, kept), made<T, From>(here, yields, kept));
        co_return right(r);
    }
    case way::timeout: {
        const auto r = co_await coflux::timeout(made<T, From>(here, yields, kept), std::chrono::hours(1));
        if (!r.has_value()) co_return 0;
        co_return right(*r);
    }
    case way::deadline: {
        const auto r = co_await coflux::deadline(made<T, From>(here, yields, kept), in_an_hour);
        if (!r.has_value()) co_return 0;
        co_return right(*r);
    }
    case way::for_each: {
        const std::array<int, 2> elements{1, 2};
        const auto make = [&](coflux::environment& e, int) { return made<T, From>(e, yields, kept); };
        co_await coflux::for_each_concurrent(elements, 2, make);
        co_return 1;
    }
    case way::scope: {
        const value r = co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<value> {
            co_return co_await made<T, From>(scope, yields, kept);
        });
        co_return right(r);
    }
    case way::shielded:
        if constexpr (From == source::call || From == source::view) {
            auto&& r = co_await coflux::shielded(made<T, From>(here, yields, kept));
            co_return right(r);
        }
        co_return 1;
    default: break;
    }
    if constexpr (From != source::call) {
        auto both = two_made<T, From>(here, yields, kept);
        switch (how) {
        case way::all_of_range: {
            const auto r = co_await coflux::when_all(std::move(both));
            co_return both_numbers(right(r[0]), right(r[1]));
        }
        case way::all_outcomes_of_range: {
            const auto r = co_await coflux::when_all_outcomes(std::move(both));
            co_return both_numbers(number_of(r[0]), number_of(r[1]));
        }
        case way::any_of_range: {
            const auto r = co_await coflux::when_any(std::move(both));
            co_return right(r.value());
        }
        case way::some: {
            const auto r = co_await coflux::when_n(std::move(both), 2);
            co_return both_numbers(right(r[0].value()), right(r[1].value()));
        }
        default: break;
        }
    }
    co_return 1;
}

template <typename T, source From>
void check(way how, int yields, int at) {
    SCOPED_TRACE(::testing::Message() << "way " << static_cast<int>(how) << ", source " << static_cast<int>(From)
                                      << ", " << yields << " yields, throws at " << at);
    ledger::open(at);
    coflux::counting_resource frames;
    int got = 0;
    bool threw = false;
    {
        pool one{1};
        auto env = coflux::make_environment(one, &frames);
        try {
            got = combines<T, From>(env, how, yields).get();
        } catch (const std::runtime_error&) {
            threw = true;
        }
    }
    const bool as_outcome = got == -1;
    if (may_drop_errors(how)) {
        EXPECT_LE(threw, ledger::has_thrown());
    } else {
        EXPECT_EQ(threw || as_outcome, ledger::has_thrown());
    }
    if (how == way::all_outcomes || how == way::all_outcomes_of_range) {
        EXPECT_FALSE(threw);
    }
    if (!threw && !as_outcome) {
        EXPECT_EQ(got, 1);
    }
    EXPECT_EQ(ledger::alive, 0);
    EXPECT_EQ(ledger::lost, 0);
    EXPECT_EQ(frames.live(), 0U);
}

template <typename T, source From>
void check_all() {
    for (int how = 0; how <= static_cast<int>(way::last); ++how) {
        for (const int yields : {0, 2}) {
            for (int at = 0; at < 7; ++at) check<T, From>(static_cast<way>(how), yields, at);
        }
    }
}

template <typename T>
class results_of_combinators : public ::testing::Test {};
using results =
    ::testing::Types<odd<true>, const odd<true>, odd<false>, odd<true, 64>, odd<true, alignof(void*), false>>;
TYPED_TEST_SUITE(results_of_combinators, results);

TYPED_TEST(results_of_combinators, die_once_wherever_a_transfer_throws) {
    check_all<TypeParam, source::fork>();
    check_all<TypeParam, source::task>();
    check_all<TypeParam, source::call>();
    if constexpr (std::is_copy_constructible_v<TypeParam>) check_all<TypeParam, source::view>();
}

// --- results that are no objects of their own

coflux::fork<int&, pool> refers(coflux::environment&, coflux::borrowed<int> to) {
    co_await coflux::yield();
    co_return *to;
}
coflux::fork<coflux::fork<odd<true>, pool>, pool> gives_a_fork(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_return fork_of<odd<true>, pool>(here, 1);
}
coflux::task<int, pool> combines_handles(coflux::environment&, coflux::borrowed<int> x) {
    auto&& here = co_await coflux::context();
    int right = 0;
    auto [a, b] = co_await coflux::when_all(refers(here, x), gives_a_fork(here));
    right += &a == &*x;
    const odd<true> of_b = co_await std::move(b);
    right += of_b.is_right();
    auto [c, d] = co_await coflux::when_all_outcomes(refers(here, x), gives_a_fork(here));
    right += &std::move(c).value() == &*x;
    auto given = std::move(d).value();
    const odd<true> of_d = co_await std::move(given);
    right += of_d.is_right();
    int& e = co_await coflux::race(refers(here, x), refers(here, x));
    right += &e == &*x;
    auto f = co_await coflux::timeout(gives_a_fork(here), std::chrono::hours(1));
    const odd<true> of_f = co_await std::move(*f);
    right += of_f.is_right();
    co_return right;
}

TEST(results_of_combinators_test, references_and_handles_arrive_as_they_are) {
    ledger::open(0);
    coflux::counting_resource frames;
    {
        int x = 0;
        pool one{1};
        auto env = coflux::make_environment(one, &frames);
        EXPECT_EQ(combines_handles(env, coflux::borrowed(x)).get(), 6);
    }
    EXPECT_EQ(ledger::alive, 0);
    EXPECT_EQ(ledger::lost, 0);
    EXPECT_EQ(frames.live(), 0U);
}

}  // namespace
