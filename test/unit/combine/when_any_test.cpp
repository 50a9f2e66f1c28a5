#include <coflux/combine/when_any.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <new>
#include <ranges>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "../core/stage.hpp"
#include "contenders.hpp"
#include "support/foreign_event.hpp"
#include "support/iterations.hpp"

namespace {

using namespace coflux_test;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;
using lines = std::vector<std::string>;
using root = coflux::task<void, hand>;

TEST(when_any, gives_the_first_to_end_and_says_which_it_was) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        const auto first = co_await coflux::when_any(gives_after(here, 3, 1), gives_after(here, 1, std::string("two")),
                                                     ends_after(here, 5));
        static_assert(
            std::is_same_v<std::remove_const_t<decltype(first)>, std::variant<int, std::string, std::monostate>>);
        EXPECT_EQ(first.index(), 1U);
        EXPECT_EQ(std::get<1>(first), "two");
        const auto none = co_await coflux::when_any(gives_after(here, 3, 1), ends_after(here, 0));
        EXPECT_EQ(none.index(), 1U);
    }(s.env));
}

TEST(when_any, stops_and_joins_the_others_before_it_gives_the_result) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        const auto first = co_await coflux::when_any(runs_until_stopped(here, log, "one"), gives_after(here, 2, 7),
                                                     runs_until_stopped(here, log, "three"));
        EXPECT_EQ(std::get<1>(first), 7);
        log->write("result");
    }(s.env, &j));
    ASSERT_EQ(j.lines().size(), 3U);
    EXPECT_EQ(j.lines().back(), "result");
}

TEST(when_any, of_a_range_gives_index_and_value) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        std::vector<coflux::fork<int, hand>> forks;
        for (int i = 0; i < 10; ++i) {
            forks.push_back(i == 6 ? gives_after(here, 1, 66) : runs_until_stopped(here, log, "loser"));
        }
        const auto [index, value] = co_await coflux::when_any(std::move(forks));
        EXPECT_EQ(index, 6U);
        EXPECT_EQ(value, 66);
        log->write("result");
    }(s.env, &j));
    EXPECT_EQ(j.lines().size(), 10U);
    EXPECT_EQ(j.lines().back(), "result");
}

TEST(when_any, takes_ranges_that_it_cannot_use_in_place) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        std::list<coflux::fork<int, hand>> forks;
        forks.push_back(gives_after(here, 5, 0));
        forks.push_back(gives_after(here, 1, 10));
        const auto of_list = co_await coflux::when_any(std::move(forks));
        EXPECT_EQ(of_list.index(), 1U);
        EXPECT_EQ(of_list.value(), 10);
        auto made = std::views::iota(0, 4) |
                    std::views::transform([&](int i) { return gives_after(here, i == 2 ? 0 : 9, i * 10); });
        const auto of_view = co_await coflux::when_any(made);
        EXPECT_EQ(of_view.index(), 2U);
        EXPECT_EQ(of_view.value(), 20);
    }(s.env));
}

TEST(when_any, of_voids_in_a_range_gives_the_index) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        std::vector<coflux::fork<void, hand>> forks;
        forks.push_back(ends_after(here, 4));
        forks.push_back(ends_after(here, 2));
        EXPECT_EQ((co_await coflux::when_any(std::move(forks))).index(), 1U);
    }(s.env));
}

TEST(when_any, throws_the_error_that_comes_first_and_stops_the_others) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        try {
            (void)co_await coflux::when_any(runs_until_stopped(here, log, "loser"), fails_after(here, 1, "first"),
                                            fails_when_stopped(here, "second"), fails_when_stopped(here, "third"));
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "first");
            EXPECT_EQ(coflux::other_errors().size(), 2U);
        }
    }(s.env, &j));  // and no error is left for the scope
    EXPECT_EQ(j.lines(), lines{"loser dies"});
}

TEST(when_any, leaves_the_error_of_one_that_lost_to_the_scope) {
    stage<hand> s;
    bool went_on = false;
    auto t = [](coflux::environment&, bool* on) -> root {
        auto&& here = co_await coflux::context();
        const auto first = co_await coflux::when_any(fails_when_stopped(here, "late"), gives_after(here, 1, 1),
                                                     fails_when_stopped(here, "later"));
        EXPECT_EQ(first.index(), 1U);
        *on = true;
    }(s.env, &went_on);
    s.drive();
    EXPECT_TRUE(went_on);
    try {
        t.get();
        ADD_FAILURE() << "no error";
    } catch (const std::runtime_error&) {
        EXPECT_EQ(coflux::other_errors().size(), 1U);
    }
}

TEST(when_any, leaves_an_error_once_even_where_the_scope_knows_it_already) {
    stage<hand> s;
    auto t = [](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        auto value = gives_after(here, 0, 1);
        auto failed = fails_after(here, 0, "early");
        auto viewed = fails_when_stopped(here, "viewed");
        const auto view = viewed.view();
        co_await coflux::yield();  // two have ended, and one is with the scope
        EXPECT_TRUE(failed.done());
        const auto first = co_await coflux::when_any(std::move(value), std::move(failed), std::move(viewed));
        EXPECT_EQ(first.index(), 0U);
    }(s.env);
    s.drive();
    try {
        t.get();
        ADD_FAILURE() << "no error";
    } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "early");
        EXPECT_EQ(coflux::other_errors().size(), 1U);
    }
}

TEST(when_any, takes_no_stop_for_an_end_that_decides) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        const auto first =
            co_await coflux::when_any(stops_after(here, 0), gives_after(here, 4, 5), stops_after(here, 2));
        EXPECT_EQ(first.index(), 1U);
    }(s.env));
}

TEST(when_any, stops_its_caller_when_all_were_stopped) {
    for (const int yields : yields_before_the_end) {
        stage<hand> s;
        auto t = [](coflux::environment&, int after) -> root {
            auto&& here = co_await coflux::context();
            auto a = stops_after(here, after);
            auto b = stops_after(here, 0);
            co_await coflux::yield();
            co_await coflux::yield();
            (void)co_await coflux::when_any(std::move(a), std::move(b));
            ADD_FAILURE() << "went on";
        }(s.env, yields);
        s.drive();
        EXPECT_THROW(t.get(), coflux::task_stopped);
    }
}

TEST(when_any, of_what_has_ended_takes_the_first_in_order_and_does_not_suspend) {
    stage<hand> s;
    bool went_on = false;
    auto t = [](coflux::environment&, bool* on) -> root {
        auto&& here = co_await coflux::context();
        auto a = stops_after(here, 0);
        auto b = gives_after(here, 0, 2);
        auto c = gives_after(here, 0, 3);
        co_await coflux::yield();
        here.request_stop();  // too late: what was completed stays completed
        const auto first = co_await coflux::when_any(std::move(a), std::move(b), std::move(c));
        EXPECT_EQ(first.index(), 1U);
        *on = true;
    }(s.env, &went_on);
    s.drive();
    t.get();
    EXPECT_TRUE(went_on);
}

TEST(when_any, is_a_stop_point_where_one_still_runs) {
    stage<hand> s;
    journal j;
    auto t = [](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        const mortal local(*log, "caller");
        auto value = gives_after(here, 0, 2);
        auto runs = runs_until_stopped(here, log, "child");
        co_await coflux::yield();
        here.request_stop();
        (void)co_await coflux::when_any(std::move(value), std::move(runs));
        ADD_FAILURE() << "went on";
    }(s.env, &j);
    s.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
    EXPECT_EQ(j.lines(), (lines{"child dies", "caller dies"}));
}

/// Waits for two that end only by a stop.
coflux::fork<int, hand> waits_for_any(coflux::environment&, journal* log, bool one_gives_a_value) {
    auto&& here = co_await coflux::context();
    const mortal local(*log, "caller");
    auto last = one_gives_a_value ? gives_when_stopped(here, 9) : runs_until_stopped(here, log, "second");
    const auto first = co_await coflux::when_any(runs_until_stopped(here, log, "first"), std::move(last));
    log->write("result");
    co_return std::get<1>(first);
}

TEST(when_any, that_waits_ends_by_the_stop_of_its_children) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        auto f = waits_for_any(here, log, false);
        for (int i = 0; i < 3; ++i) co_await coflux::yield();
        f.request_stop();
        const auto o = co_await coflux::as_outcome(std::move(f));
        EXPECT_TRUE(o.is_stopped());
    }(s.env, &j));
    ASSERT_EQ(j.lines().size(), 3U);
    EXPECT_EQ(j.lines().back(), "caller dies");
}

TEST(when_any, that_waits_keeps_a_value_that_is_given_in_spite_of_a_stop) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        auto f = waits_for_any(here, log, true);
        for (int i = 0; i < 3; ++i) co_await coflux::yield();
        f.request_stop();
        EXPECT_EQ(co_await std::move(f), 9);
    }(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"first dies", "result", "caller dies"}));
}

coflux::call<int> calls(coflux::environment&, int yields, int& begun) {
    ++begun;
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    co_return yields;
}

TEST(when_any, begins_calls_and_stops_the_one_that_lost) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        int begun = 0;
        const auto first = co_await coflux::when_any(calls(here, 1'000'000'000, begun), calls(here, 2, begun));
        EXPECT_EQ(first.index(), 1U);
        EXPECT_EQ(std::get<1>(first), 2);
        EXPECT_EQ(begun, 2);
    }(s.env));
}

TEST(when_any, awaits_views_and_what_it_does_not_know) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        auto f = gives_after(here, 2, std::string("seen"));
        foreign_event event;
        event.set();
        const auto set = co_await coflux::when_any(event, f.view());
        EXPECT_EQ(set.index(), 0U);
        auto slow = gives_after(here, 3, 0);
        const auto seen = co_await coflux::when_any(std::move(slow), f.view());
        EXPECT_EQ(seen.index(), 1U);
        const std::string& value = std::get<1>(seen);
        EXPECT_EQ(value, "seen");
        EXPECT_EQ(co_await std::move(f), "seen");
    }(s.env));
}

TEST(when_any, of_views_in_a_range_gives_a_reference) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        auto f = gives_after(here, 3, std::string("late"));
        auto g = gives_after(here, 1, std::string("early"));
        const std::vector<coflux::fork_view<std::string>> views{f.view(), g.view()};
        const auto first = co_await coflux::when_any(views);
        EXPECT_EQ(first.index(), 1U);
        EXPECT_EQ(&first.value(), &co_await views[1]);
    }(s.env));
}

TEST(when_any, moves_what_can_only_be_moved) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        auto of_two = co_await coflux::when_any(gives_after(here, 1, move_only(1)), gives_after(here, 9, move_only(2)));
        EXPECT_EQ(*std::get<0>(of_two).value, 1);
        std::vector<coflux::fork<move_only, hand>> forks;
        forks.push_back(gives_after(here, 1, move_only(3)));
        auto [index, value] = co_await coflux::when_any(std::move(forks));
        EXPECT_EQ(index, 0U);
        EXPECT_EQ(*value.value, 3);
    }(s.env));
}

template <typename On>
class when_any_on : public ::testing::Test {};
TYPED_TEST_SUITE(when_any_on, combinations, combination_names);

template <typename E>
coflux::fork<void, E> spins_until_stopped(coflux::environment&) {
    for (;;) co_await coflux::yield();
}

TYPED_TEST(when_any_on, has_one_result_however_its_children_run) {
    using child = typename TypeParam::child;
    for (const int yields : yields_before_the_end) {
        typename TypeParam::stage_type s;
        const auto body = [](coflux::environment&, int after) -> coflux::task<int, typename TypeParam::root> {
            auto&& here = co_await coflux::context();
            auto a = gives<child>(here, after, [] { return 1; });
            auto b = gives<child>(here, after + 2, [] { return 2; });
            const auto first = co_await coflux::when_any(std::move(a), std::move(b));
            co_return std::visit([](int x) { return x; }, first);
        };
        const int value = s.run(body(s.env, yields));
        EXPECT_TRUE(value == 1 || value == 2);
    }
}

/// Both end at about the same time, on two threads.
coflux::task<std::size_t, pool> races(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    std::size_t sum = 0;
    for (std::size_t i = 0; i < rounds; ++i) {
        auto a = gives<pool>(here, static_cast<int>(i % 3), [] { return std::size_t{1}; });
        auto b = gives<pool>(here, static_cast<int>(i % 2), [] { return std::size_t{2}; });
        auto c = spins_until_stopped<pool>(here);
        const auto first = co_await coflux::when_any(std::move(a), std::move(b), std::move(c));
        sum += first.index() == 0 ? std::get<0>(first) : 3 - std::get<1>(first);
    }
    co_return sum;
}

TEST(when_any, gives_one_value_a_round_where_two_threads_race) {
    stage<pool> s;
    const std::size_t rounds = race_rounds / 10;
    EXPECT_EQ(s.run(races(s.env, rounds)), rounds);
}

coflux::task<std::size_t, pool> races_to_errors(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    std::size_t caught = 0;
    for (std::size_t i = 0; i < rounds; ++i) {
        std::vector<coflux::fork<int, pool>> forks;
        for (std::size_t k = 0; k < 4; ++k) {
            forks.push_back(
                gives<pool>(here, static_cast<int>((i + k) % 3), []() -> int { throw std::runtime_error("x"); }));
        }
        try {
            (void)co_await coflux::when_any(std::move(forks));
        } catch (const std::runtime_error&) {
            caught += 1 + coflux::other_errors().size();
        }
    }
    co_return caught;
}

TEST(when_any, has_all_errors_or_stops_where_threads_race) {
    stage<pool> s;
    const std::size_t rounds = race_rounds / 20;
    const std::size_t caught = s.run(races_to_errors(s.env, rounds));
    EXPECT_GE(caught, rounds);
    EXPECT_LE(caught, 4 * rounds);
}

TEST(when_any, of_forks_takes_no_memory_of_its_own) {
    stage<hand> s;
    s.run([](coflux::environment&, coflux::counting_resource* frames) -> root {
        auto&& here = co_await coflux::context();
        auto a = gives_after(here, 1, 1);
        auto b = gives_after(here, 9, 2);
        const std::size_t before = frames->allocations();
        (void)co_await coflux::when_any(std::move(a), std::move(b));
        EXPECT_EQ(frames->allocations(), before);
    }(s.env, &s.frames()));
}

TEST(when_any, that_finds_no_memory_begins_nothing_and_leaves_the_handles) {
    stage<hand> s;
    s.run([](coflux::environment&, coflux::counting_resource* frames) -> root {
        auto&& here = co_await coflux::context();
        int begun = 0;
        bool caught = false;
        auto f = gives_after(here, 0, 4);
        frames->fail_at(4);  // after both calls and the wrapper of one
        try {
            (void)co_await coflux::when_any(std::move(f), calls(here, 0, begun), calls(here, 0, begun));
        } catch (const std::bad_alloc&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
        EXPECT_EQ(begun, 0);
        EXPECT_EQ(co_await std::move(f), 4);
        std::vector<coflux::fork<int, hand>> forks;
        forks.push_back(gives_after(here, 0, 5));
        caught = false;
        frames->fail_at(1);
        try {
            (void)co_await coflux::when_any(std::move(forks));
        } catch (const std::bad_alloc&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
        EXPECT_EQ(co_await std::move(forks.front()), 5);
    }(s.env, &s.frames()));
}

coflux::task<void, noop> waits_for_nothing(coflux::environment&) {
    (void)co_await coflux::when_any(std::vector<coflux::fork<int, noop>>{});
}

TEST(when_any, throws_for_an_empty_range) {
    const auto waits = [] {
        auto env = coflux::make_environment(noop{});
        waits_for_nothing(env).get();
    };
    EXPECT_THROW(waits(), std::invalid_argument);
}

}  // namespace
