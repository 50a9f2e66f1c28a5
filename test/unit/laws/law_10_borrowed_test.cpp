// Law 10, what types cannot say: a child that borrows has ended when its handle dies, or was left to its scope on
// purpose.
#include <coflux/coflux.hpp>

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../core/stage.hpp"

namespace {

using coflux::borrowed;
using coflux_test::manual_executor;
using coflux_test::stage;
using hand = manual_executor;
using noop = coflux::noop_executor;

template <typename Handle>
Handle reads_later(coflux::environment&, borrowed<const int> from) {
    for (int i = 0; i < 3; ++i) co_await coflux::yield();
    co_return *from;
}
template <typename E>
using fork = coflux::fork<int, E>;
template <typename E>
using task = coflux::task<int, E>;

/// One whose member functions are coroutines.
struct counter {
    using outlives_its_coroutines = void;
    int value = 3;
    template <typename Handle>
    Handle reads_later(coflux::environment&) const {
        for (int i = 0; i < 3; ++i) co_await coflux::yield();
        co_return value;
    }
};
struct stateless {
    template <typename Handle>
    Handle gives_later(coflux::environment&) const {
        for (int i = 0; i < 3; ++i) co_await coflux::yield();
        co_return 3;
    }
};

enum class ending { by_return, by_exception, by_assignment };

template <typename Child>
coflux::fork<void, hand> lets_its_handle_die(coflux::environment&, ending how) {
    auto&& here = co_await coflux::context();
    const int local = 3;
    auto child = reads_later<Child>(here, borrowed(local));
    if (how == ending::by_exception) throw std::runtime_error("passes");
    if (how == ending::by_assignment) {
        child = reads_later<Child>(here, borrowed(local));
        co_await std::move(child);
    }
}

template <typename Child>
void run_one(ending how) {
    stage<hand, noop> s;
    s.run([](coflux::environment&, ending e) -> coflux::task<void, hand> {
        auto&& here = co_await coflux::context();
        co_await lets_its_handle_die<Child>(here, e);
    }(s.env, how));
}

constexpr const char* borrows = "reads_later.*law_10_borrowed_test.*with_scope.*attach";

TEST(law_10_borrowed_death, names_a_child_that_borrows_and_whose_handle_dies_unfinished) {
    for (const ending how : {ending::by_return, ending::by_exception, ending::by_assignment}) {
        EXPECT_DEATH(run_one<fork<hand>>(how), borrows);
        EXPECT_DEATH(run_one<fork<noop>>(how), borrows);
        EXPECT_DEATH(run_one<fork<coflux::inherit_executor>>(how), borrows);
        EXPECT_DEATH(run_one<task<hand>>(how), borrows);
    }
}

TEST(law_10_borrowed_death, holds_for_member_functions_which_borrow_their_object) {
    const auto drops = []<typename Child>(std::type_identity<Child>) {
        stage<hand, noop> s;
        s.run([](coflux::environment&) -> coflux::task<void, hand> {
            auto&& here = co_await coflux::context();
            const counter local;
            auto child = local.reads_later<Child>(here);
        }(s.env));
    };
    EXPECT_DEATH(drops(std::type_identity<fork<hand>>()), borrows);
    EXPECT_DEATH(drops(std::type_identity<fork<noop>>()), borrows);
    EXPECT_DEATH(drops(std::type_identity<task<hand>>()), borrows);
}

TEST(law_10_borrowed_death, holds_for_functions_that_are_run_as_forks) {
    const auto drops = [] {
        stage<hand> s;
        s.run([](coflux::environment&) -> coflux::task<void, hand> {
            auto&& here = co_await coflux::context();
            int local = 0;
            auto child = coflux::make_fork(here, [](borrowed<int> at) { ++*at; }, borrowed(local));
        }(s.env));
    };
    EXPECT_DEATH(drops(), "borrows died before the coroutine has ended");
}

TEST(law_10_borrowed, lets_die_what_has_ended_and_what_was_attached_or_awaited) {
    stage<hand> s;
    s.run([](coflux::environment&) -> coflux::task<void, hand> {
        auto&& here = co_await coflux::context();
        const int outer = 1;
        {
            auto ended = reads_later<fork<hand>>(here, borrowed(outer));
            while (!ended.done()) co_await coflux::yield();
        }
        EXPECT_EQ(co_await reads_later<fork<hand>>(here, borrowed(outer)), 1);
        auto [a, b] = co_await coflux::when_all(reads_later<fork<hand>>(here, borrowed(outer)),
                                                reads_later<task<hand>>(here, borrowed(outer)));
        EXPECT_EQ(a + b, 2);
        const auto first = co_await coflux::when_any(reads_later<fork<hand>>(here, borrowed(outer)), coflux::yield());
        EXPECT_EQ(first.index(), 1U);
        auto left = reads_later<fork<hand>>(here, borrowed(outer));
        std::move(left).attach();
        co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
            auto kept = reads_later<fork<hand>>(scope, borrowed(outer));
            auto below = coflux::make_environment(scope);
            auto also = reads_later<fork<hand>>(below, borrowed(outer));
            co_await below.join();
        });
        for (int i = 0; i < 5; ++i) co_await coflux::yield();  // for what was attached
    }(s.env));
}

TEST(law_10_borrowed, lets_die_member_functions_that_are_awaited_attached_or_in_a_scope) {
    const counter outer;
    stage<hand> s;
    s.run([](coflux::environment&, borrowed<const counter> of) -> coflux::task<void, hand> {
        auto&& here = co_await coflux::context();
        EXPECT_EQ(co_await of->reads_later<fork<hand>>(here), 3);
        of->reads_later<fork<hand>>(here).attach();
        co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
            auto kept = of->reads_later<fork<hand>>(scope);
            co_return;
        });
        for (int i = 0; i < 5; ++i) co_await coflux::yield();  // for what was attached
    }(s.env, borrowed(outer)));
}

TEST(law_10_borrowed, lets_die_member_functions_of_objects_without_data) {
    stage<hand> s;
    s.run([](coflux::environment&) -> coflux::task<void, hand> {
        auto&& here = co_await coflux::context();
        auto child = stateless().gives_later<fork<hand>>(here);
    }(s.env));
}

TEST(law_10_borrowed, lets_die_what_a_stop_joins_before_locals_die) {
    stage<hand> s;
    s.run([](coflux::environment&) -> coflux::task<void, hand> {
        auto&& here = co_await coflux::context();
        auto stops = [](coflux::environment&) -> coflux::fork<void, hand> {
            auto&& self = co_await coflux::context();
            const int local = 3;
            auto child = reads_later<fork<hand>>(self, borrowed(local));
            co_await coflux::this_coroutine::stop();
        }(here);
        EXPECT_TRUE((co_await coflux::as_outcome(std::move(stops))).is_stopped());
    }(s.env));
}

}  // namespace
