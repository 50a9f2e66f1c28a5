#include <coflux/combine/race.hpp>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "../core/stage.hpp"
#include "contenders.hpp"
#include "support/gate.hpp"

namespace {

using namespace coflux_test;
using noop = coflux::noop_executor;
using lines = std::vector<std::string>;
using root = coflux::task<void, hand>;

TEST(race, gives_the_value_of_the_first_and_joins_the_others) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        EXPECT_EQ(co_await coflux::race(runs_until_stopped(here, log, "loser"), gives_after(here, 2, 7)), 7);
        log->write("result");
        co_await coflux::race(ends_after(here, 3), ends_after(here, 1));
        std::vector<coflux::fork<move_only, hand>> forks;
        forks.push_back(gives_after(here, 5, move_only(5)));
        forks.push_back(gives_after(here, 1, move_only(1)));
        EXPECT_EQ(*(co_await coflux::race(std::move(forks))).value, 1);
    }(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"loser dies", "result"}));
}

TEST(race, throws_the_error_that_comes_first) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        EXPECT_TRUE((co_await coflux::as_outcome(coflux::race(gives_after(here, 3, 1), fails_after(here, 1, "x"))))
                        .has_error());
        EXPECT_TRUE(
            (co_await coflux::as_outcome(coflux::race(stops_after(here, 3), stops_after(here, 1)))).is_stopped());
        EXPECT_EQ((co_await coflux::as_outcome(coflux::race(stops_after(here, 0), gives_after(here, 1, 4)))).value(),
                  4);
    }(s.env));
}

TEST(race, wakes_those_that_wait_in_a_primitive) {
    stage<hand> s;
    gate never;
    s.run([](coflux::environment&, gate* closed) -> root {
        auto&& here = co_await coflux::context();
        const auto waits = [](coflux::environment&, gate* at) -> coflux::call<int> {
            co_await at->wait();
            co_return 1;
        };
        EXPECT_EQ(co_await coflux::race(waits(here, closed), gives_after(here, 2, 2), waits(here, closed)), 2);
        EXPECT_FALSE(closed->has_waiter());
        co_await coflux::race(closed->wait(), ends_after(here, 1));
        EXPECT_FALSE(closed->has_waiter());
    }(s.env, &never));
}

TEST(race, leaves_a_view_that_lost_and_what_it_looks_at) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        auto f = gives_when_stopped(here, 1);
        EXPECT_EQ(co_await coflux::race(f.view(), gives_after(here, 2, 2).view()), 2);
        EXPECT_FALSE(f.done());
        f.request_stop();
        EXPECT_EQ(co_await std::move(f), 1);
    }(s.env));
}

coflux::task<void, noop> races_nothing(coflux::environment&) {
    (void)co_await coflux::race(std::vector<coflux::fork<int, noop>>{});
}

TEST(race, throws_for_an_empty_range) {
    const auto waits = [] {
        auto env = coflux::make_environment(noop{});
        races_nothing(env).get();
    };
    EXPECT_THROW(waits(), std::invalid_argument);
}

}  // namespace
