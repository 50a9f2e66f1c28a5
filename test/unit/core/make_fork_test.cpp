#include <coflux/core/make_fork.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "stage.hpp"
#include "support/executors.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::manual_executor;
using coflux_test::move_only;
using coflux_test::stage;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

int add(int a, int b) {
    return a + b;
}

struct counter {
    [[nodiscard]] int plus(int x) const { return value + x; }
    int value = 0;
};

TEST(make_fork, runs_functions_lambdas_and_members) {
    stage<noop> s;
    const auto root = [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        EXPECT_EQ(co_await coflux::make_fork(here, add, 1, 2), 3);
        EXPECT_EQ(co_await coflux::make_fork(here, [](int x) { return 2 * x; }, 4), 8);
        EXPECT_EQ(co_await coflux::make_fork(here, &counter::plus, counter{5}, 6), 11);
    };
    s.run(root(s.env));
}

TEST(make_fork, gives_the_value_of_a_member_whose_object_it_has_and_a_reference_into_one_that_it_refers_to) {
    stage<noop> s;
    const auto root = [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto of_shared = coflux::make_fork(here, &counter::value, std::make_shared<counter>(counter{5}));
        static_assert(std::is_same_v<decltype(of_shared), coflux::fork<int>>, "the counter dies with the fork");
        EXPECT_EQ(co_await std::move(of_shared), 5);
        auto of_object = coflux::make_fork(here, &counter::value, counter{6});
        static_assert(std::is_same_v<decltype(of_object), coflux::fork<int>>);
        EXPECT_EQ(co_await std::move(of_object), 6);
        counter mine{7};
        EXPECT_EQ(&co_await coflux::make_fork(here, &counter::value, &mine), &mine.value);
        EXPECT_EQ(&co_await coflux::make_fork(here, &counter::value, std::ref(mine)), &mine.value);
        struct holder {
            std::unique_ptr<int> held;
        };
        EXPECT_EQ(*co_await coflux::make_fork(here, &holder::held, holder{std::make_unique<int>(8)}), 8);
    };
    s.run(root(s.env));
}

TEST(make_fork, runs_on_the_parents_executor_or_the_one_named) {
    stage<manual_executor, pool> s;
    const auto root = [](coflux::environment&) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto inherited = coflux::make_fork(here, [] { return 1; });
        EXPECT_FALSE(inherited.done());
        auto named = coflux::make_fork<noop>(here, [] { return 2; });
        EXPECT_TRUE(named.done());
        EXPECT_EQ(co_await std::move(inherited), 1);
        EXPECT_EQ(co_await std::move(named), 2);
    };
    auto t = root(s.env);
    // Root, and the fork on its executor; its end goes on with the root in place.
    EXPECT_EQ(s.root.run_all(), 2U);
    t.get();
    const auto in_pool = [](coflux::environment&) -> coflux::task<int, pool> {
        auto&& here = co_await coflux::context();
        auto a = coflux::make_fork<pool>(here, add, 1, 2);
        auto b = coflux::make_fork(here, add, 3, 4);
        co_return co_await std::move(b) + co_await std::move(a);
    };
    EXPECT_EQ(in_pool(s.env).get(), 10);
}

TEST(make_fork, owns_what_it_is_given) {
    stage<manual_executor> s;
    const auto root = [](coflux::environment&) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        std::vector<coflux::fork<std::string>> forks;
        for (int i = 0; i < 3; ++i) {
            const std::string local(50, static_cast<char>('a' + i));
            forks.push_back(coflux::make_fork(here, [](const std::string& text) { return text; }, local));
        }
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(co_await std::move(forks[static_cast<std::size_t>(i)]),
                      std::string(50, static_cast<char>('a' + i)));
        auto f = coflux::make_fork(here, [](move_only m) { return m; }, move_only(7));
        const move_only given = co_await std::move(f);
        EXPECT_EQ(*given.value, 7);
    };
    s.run(root(s.env));
}

TEST(make_fork, takes_a_reference_where_std_ref_says_so) {
    stage<manual_executor> s;
    const auto root = [](coflux::environment&) -> coflux::task<int, manual_executor> {
        auto&& here = co_await coflux::context();
        int x = 1;
        auto f = coflux::make_fork(here, [](int& y) -> int& { return ++y; }, std::ref(x));
        int& same = co_await std::move(f);
        EXPECT_EQ(&same, &x);
        co_return x;
    };
    EXPECT_EQ(s.run(root(s.env)), 2);
}

TEST(make_fork, throws_what_the_function_throws_at_the_await) {
    stage<noop> s;
    const auto root = [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto f = coflux::make_fork(here, [] { throw std::runtime_error("function"); });
        EXPECT_THROW(co_await std::move(f), std::runtime_error);
    };
    s.run(root(s.env));
}

}  // namespace
