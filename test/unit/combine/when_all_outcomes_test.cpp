#include <coflux/combine/when_all_outcomes.hpp>

#include <cstddef>
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

TEST(when_all_outcomes, gives_value_error_and_stop_in_the_order_of_the_arguments) {
    for (const int yields : yields_before_the_end) {
        stage<hand> s;
        s.run([](coflux::environment&, int after) -> root {
            auto&& here = co_await coflux::context();
            auto a = gives_after(here, after, move_only(1));
            auto b = fails_after(here, after + 2, "why");
            auto c = stops_after(here, after + 1);
            auto d = ends_after(here, after);
            co_await coflux::yield();
            auto [w, x, y, z] =
                co_await coflux::when_all_outcomes(std::move(a), std::move(b), std::move(c), std::move(d));
            EXPECT_EQ(*std::move(w).value().value, 1);
            EXPECT_TRUE(x.has_error());
            EXPECT_TRUE(y.is_stopped());
            EXPECT_TRUE(z.has_value());
        }(s.env, yields));  // the error was observed
    }
}

TEST(when_all_outcomes, of_a_range_gives_a_vector) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        std::vector<coflux::fork<int, hand>> forks;
        for (int i = 0; i < 9; ++i) {
            forks.push_back(i % 3 == 0   ? gives_after(here, i, i)
                            : i % 3 == 1 ? fails_after(here, i, "x")
                                         : stops_after(here, i));
        }
        auto all = co_await coflux::when_all_outcomes(std::move(forks));
        EXPECT_EQ(all.size(), 9U);
        for (std::size_t i = 0; i < 9; ++i) {
            EXPECT_EQ(all[i].has_value(), i % 3 == 0);
            EXPECT_EQ(all[i].has_error(), i % 3 == 1);
            EXPECT_EQ(all[i].is_stopped(), i % 3 == 2);
        }
        EXPECT_EQ(std::move(all[6]).value(), 6);
        EXPECT_TRUE((co_await coflux::when_all_outcomes(std::vector<coflux::fork<int, hand>>{})).empty());
    }(s.env));
}

coflux::call<int> calls(coflux::environment&, int n) {
    co_await coflux::yield();
    if (n == 0) co_await coflux::this_coroutine::stop();
    if (n < 0) throw std::runtime_error("negative");
    co_return n;
}

TEST(when_all_outcomes, takes_calls_and_views) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        auto f = gives_after(here, 2, std::string("seen"));
        auto [a, b, c, d] =
            co_await coflux::when_all_outcomes(calls(here, 3), calls(here, 0), calls(here, -1), f.view());
        EXPECT_EQ(std::move(a).value(), 3);
        EXPECT_TRUE(b.is_stopped());
        EXPECT_TRUE(c.has_error());
        EXPECT_EQ(std::move(d).value(), "seen");
    }(s.env));
}

TEST(when_all_outcomes, stops_where_its_own_coroutine_was_stopped) {
    stage<hand> s;
    journal j;
    auto t = [](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        auto runs = runs_until_stopped(here, log, "child");
        here.request_stop();
        (void)co_await coflux::when_all_outcomes(std::move(runs));
        ADD_FAILURE() << "went on";
    }(s.env, &j);
    s.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
}

TEST(when_all_outcomes, leaves_an_error_to_the_scope_when_its_own_coroutine_stops) {
    stage<hand> s;
    auto t = [](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        auto fails = fails_when_stopped(here, "kept");
        here.request_stop();
        (void)co_await coflux::when_all_outcomes(std::move(fails));
    }(s.env);
    s.drive();
    EXPECT_THROW(t.get(), std::runtime_error);
}

coflux::task<std::size_t, pool> counts(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    std::size_t ended = 0;
    for (std::size_t i = 0; i < rounds; ++i) {
        auto a = gives<pool>(here, static_cast<int>(i % 3), [] { return 1; });
        auto b = gives<pool>(here, static_cast<int>(i % 2), []() -> int { throw std::runtime_error("x"); });
        auto [x, y] = co_await coflux::when_all_outcomes(std::move(a), std::move(b));
        ended += (x.has_value() ? 1U : 0U) + (y.has_error() ? 1U : 0U);
    }
    co_return ended;
}

TEST(when_all_outcomes, meets_children_on_two_threads) {
    stage<pool> s;
    const std::size_t rounds = race_rounds / 50;
    EXPECT_EQ(s.run(counts(s.env, rounds)), 2 * rounds);
}

}  // namespace
