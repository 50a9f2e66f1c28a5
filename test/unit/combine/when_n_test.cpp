#include <coflux/combine/when_n.hpp>

#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "../core/stage.hpp"
#include "contenders.hpp"
#include "support/iterations.hpp"

namespace {

using namespace coflux_test;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;
using root = coflux::task<void, hand>;
using forks_of_int = std::vector<coflux::fork<int, hand>>;

TEST(when_n, gives_the_first_values_in_the_order_in_which_they_came) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        forks_of_int forks;
        forks.push_back(gives_after(here, 4, 40));
        forks.push_back(runs_until_stopped(here, log, "loser"));
        forks.push_back(gives_after(here, 2, 20));
        forks.push_back(stops_after(here, 0));
        forks.push_back(gives_after(here, 9, 90));
        const auto values = co_await coflux::when_n(std::move(forks), 2);
        EXPECT_EQ(values.size(), 2U);
        EXPECT_EQ(values[0].index(), 2U);
        EXPECT_EQ(values[0].value(), 20);
        EXPECT_EQ(values[1].index(), 0U);
        EXPECT_EQ(values[1].value(), 40);
        EXPECT_EQ(log->lines().size(), 1U);
    }(s.env, &j));
}

TEST(when_n, of_all_waits_for_all) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        forks_of_int forks;
        for (int i = 0; i < 5; ++i) forks.push_back(gives_after(here, 5 - i, i));
        int expected = 4;
        for (const auto& [index, value] : co_await coflux::when_n(std::move(forks), 5)) {
            EXPECT_EQ(static_cast<int>(index), expected);
            EXPECT_EQ(value, expected--);
        }
        EXPECT_EQ(expected, -1);
    }(s.env));
}

TEST(when_n, throws_an_error_that_comes_before_the_last_value) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        forks_of_int forks;
        forks.push_back(gives_after(here, 0, 1));
        forks.push_back(fails_after(here, 1, "x"));
        forks.push_back(gives_when_stopped(here, 3));
        forks.push_back(runs_until_stopped(here, log, "loser"));
        EXPECT_TRUE((co_await coflux::as_outcome(coflux::when_n(std::move(forks), 2))).has_error());
        EXPECT_EQ(log->lines().size(), 1U);
    }(s.env, &j));
}

TEST(when_n, leaves_an_error_that_comes_later_to_the_scope) {
    stage<hand> s;
    auto t = [](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        forks_of_int forks;
        forks.push_back(gives_after(here, 0, 1));
        forks.push_back(fails_when_stopped(here, "x"));
        forks.push_back(gives_after(here, 2, 2));
        EXPECT_EQ((co_await coflux::when_n(std::move(forks), 2)).size(), 2U);
    }(s.env);
    s.drive();
    EXPECT_THROW(t.get(), std::runtime_error);
}

TEST(when_n, stops_the_rest_as_soon_as_there_cannot_be_enough) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        forks_of_int forks;
        forks.push_back(runs_until_stopped(here, log, "rest"));
        forks.push_back(stops_after(here, 1));
        forks.push_back(gives_after(here, 2, 1));
        forks.push_back(stops_after(here, 3));
        EXPECT_TRUE((co_await coflux::as_outcome(coflux::when_n(std::move(forks), 3))).is_stopped());
        EXPECT_EQ(log->lines().size(), 1U);
    }(s.env, &j));
}

TEST(when_n, of_voids_gives_indices) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        std::vector<coflux::fork<void, hand>> forks;
        for (int i = 0; i < 3; ++i) forks.push_back(ends_after(here, 9 - 3 * i));
        const auto ended = co_await coflux::when_n(std::move(forks), 1);
        EXPECT_EQ(ended.front().index(), 2U);
    }(s.env));
}

coflux::task<std::size_t, pool> races(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    std::size_t different = 0;
    for (std::size_t i = 0; i < rounds; ++i) {
        std::vector<coflux::fork<std::size_t, pool>> forks;
        for (std::size_t k = 0; k < 6; ++k)
            forks.push_back(gives<pool>(here, static_cast<int>((i + k) % 4), [k] { return k; }));
        std::set<std::size_t> seen;
        for (const auto& [index, value] : co_await coflux::when_n(std::move(forks), 3)) {
            if (index == value) seen.insert(index);
        }
        different += seen.size();
    }
    co_return different;
}

TEST(when_n, gives_different_children_where_two_threads_race) {
    stage<pool> s;
    const std::size_t rounds = race_rounds / 50;
    EXPECT_EQ(s.run(races(s.env, rounds)), 3 * rounds);
}

coflux::task<void, noop> wants(coflux::environment&, std::size_t n) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<int, noop>> forks;
    forks.push_back(gives<noop>(here, 0, [] { return 1; }));
    (void)co_await coflux::when_n(std::move(forks), n);
}

TEST(when_n, throws_where_none_or_more_than_there_are_are_wanted) {
    const auto waits = [](std::size_t n) {
        auto env = coflux::make_environment(noop{});
        wants(env, n).get();
    };
    EXPECT_THROW(waits(0), std::invalid_argument);
    try {
        waits(2);
        FAIL() << "2 of 1 were given";
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string(e.what()).find("when_n: 2 of 1 are wanted"), std::string::npos) << e.what();
    }
}

}  // namespace
