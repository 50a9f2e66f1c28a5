#include <coflux/combine/first_success.hpp>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

#include "../core/stage.hpp"
#include "contenders.hpp"
#include "support/iterations.hpp"

namespace {

using namespace coflux_test;
using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;
using lines = std::vector<std::string>;
using root = coflux::task<void, hand>;

TEST(first_success, passes_errors_by_and_drops_them_once_there_is_a_value) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        auto early = fails_after(here, 0, "before the wait");
        co_await coflux::yield();
        const int value = co_await coflux::first_success(std::move(early), fails_after(here, 1, "in it"),
                                                         runs_until_stopped(here, log, "loser"),
                                                         gives_after(here, 3, 3), fails_when_stopped(here, "after it"));
        EXPECT_EQ(value, 3);
    }(s.env, &j));  // no error is left for the scope
    EXPECT_EQ(j.lines(), lines{"loser dies"});
}

TEST(first_success, throws_all_errors_joined_when_there_is_no_value) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        try {
            (void)co_await coflux::first_success(fails_after(here, 3, "first"), fails_after(here, 1, "second"),
                                                 stops_after(here, 2), fails_after(here, 0, "third"));
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "first");
            EXPECT_EQ(coflux::other_errors().size(), 2U);
        }
    }(s.env));
}

TEST(first_success, stops_its_caller_when_all_were_stopped) {
    stage<hand> s;
    auto t = [](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::first_success(stops_after(here, 3), stops_after(here, 1));
        ADD_FAILURE() << "went on";
    }(s.env);
    s.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
}

TEST(first_success, takes_ranges_and_voids) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        std::vector<coflux::fork<int, hand>> forks;
        forks.push_back(fails_after(here, 0, "x"));
        forks.push_back(gives_after(here, 2, 8));
        EXPECT_EQ(co_await coflux::first_success(std::move(forks)), 8);
        co_await coflux::first_success(ends_after(here, 2), ends_after(here, 1));
    }(s.env));
}

coflux::task<std::size_t, pool> races(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    std::size_t sum = 0;
    for (std::size_t i = 0; i < rounds; ++i) {
        auto a = gives<pool>(here, static_cast<int>(i % 3), []() -> std::size_t { throw std::runtime_error("x"); });
        auto b = gives<pool>(here, static_cast<int>(i % 2), [] { return std::size_t{1}; });
        sum += co_await coflux::first_success(std::move(a), std::move(b));
    }
    co_return sum;
}

TEST(first_success, finds_the_value_where_two_threads_race) {
    stage<pool> s;
    const std::size_t rounds = race_rounds / 50;
    EXPECT_EQ(s.run(races(s.env, rounds)), rounds);
}

using coflux::testing::sim_executor;
using limited_fork = coflux::fork<coflux::limited<int>, sim_executor>;

coflux::call<int> gives_later(coflux::environment&, std::chrono::milliseconds d) {
    co_await coflux::sleep_for(d);
    co_return static_cast<int>(d.count());
}
coflux::call<int> fails_later(coflux::environment&, std::chrono::milliseconds d) {
    co_await coflux::sleep_for(d);
    throw std::runtime_error("late");
}
limited_fork with_limit(coflux::environment&, std::chrono::milliseconds d, std::chrono::milliseconds limit) {
    auto&& here = co_await coflux::context();
    co_return co_await coflux::timeout(gives_later(here, d), limit);
}
coflux::task<void, sim_executor> has_limits(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto won = co_await coflux::first_success(coflux::timeout(gives_later(here, 60ms), 1ms),
                                                    coflux::timeout(gives_later(here, 5ms), 50ms));
    EXPECT_EQ(won, 5);
    const auto none =
        co_await coflux::first_success(coflux::timeout(gives_later(here, 60ms), 1ms),
                                       coflux::deadline(gives_later(here, 60ms), coflux::clock::now() + 2ms));
    EXPECT_TRUE(none.timed_out());
    EXPECT_THROW((void)co_await coflux::first_success(coflux::timeout(gives_later(here, 60ms), 1ms),
                                                      coflux::timeout(fails_later(here, 2ms), 50ms)),
                 std::runtime_error);
    EXPECT_TRUE(co_await coflux::first_success(coflux::timeout(coflux::sleep_for(60ms), 1ms),
                                               coflux::timeout(coflux::sleep_for(5ms), 50ms)));
    EXPECT_FALSE(co_await coflux::first_success(coflux::timeout(coflux::sleep_for(60ms), 1ms),
                                                coflux::timeout(coflux::sleep_for(60ms), 2ms)));
    std::vector<limited_fork> some;
    some.push_back(with_limit(here, 60ms, 1ms));
    some.push_back(with_limit(here, 5ms, 50ms));
    EXPECT_EQ(co_await coflux::first_success(std::move(some)), 5);
}
TEST(first_success, passes_a_time_that_was_up_by) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation sim(in_order);
    sim_executor executor;
    auto env = coflux::make_environment(executor);
    has_limits(env).get();
}

}  // namespace
