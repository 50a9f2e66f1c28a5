#include <coflux/sync/once.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "by_hand.hpp"
#include "support/iterations.hpp"
#include "support/witness.hpp"

namespace {

using coflux::borrowed;
using coflux::manual_reset_event;
using coflux::once;
using coflux_test::by_hand;
using coflux_test::hand;
using coflux_test::journal;
using coflux_test::lines;
using coflux_test::pool;

static_assert(coflux::once_function<void (*)()>);
static_assert(coflux::once_function<coflux::call<int> (*)(coflux::environment&)>);
static_assert(!coflux::once_function<int>);

/// Asks for something that takes until `ready` is set.
coflux::fork<void, hand> asks(coflux::environment&, borrowed<once> o, journal* j, std::string name,
                              borrowed<manual_reset_event> ready, bool fails = false) {
    const coflux_test::mortal local(*j, name);
    co_await o->call([&](coflux::environment&) -> coflux::call<int> {
        j->write(name + " begins");
        co_await ready->wait();
        if (fails) throw std::runtime_error(name);
        j->write(name + " did it");
        co_return 1;
    });
    j->write(name + " goes on");
}

TEST(once, runs_the_function_of_the_first_and_lets_the_others_wait_for_its_end) {
    by_hand s;
    once o;
    journal j;
    manual_reset_event ready;
    auto a = asks(s.env, borrowed(o), &j, "a", borrowed(ready));
    auto b = asks(s.env, borrowed(o), &j, "b", borrowed(ready));
    s.drive();
    EXPECT_EQ(j.lines(), lines{"a begins"});
    EXPECT_FALSE(o.done());
    ready.set();
    s.drive();
    EXPECT_TRUE(o.done());
    EXPECT_EQ(j.lines(), (lines{"a begins", "a did it", "a goes on", "a dies", "b goes on", "b dies"}));
}

TEST(once, takes_plain_functions_and_is_ready_when_it_is_done) {
    by_hand s;
    const auto root = [](coflux::environment&) -> coflux::task<int, hand> {
        once o;
        int runs = 0;
        co_await o.call([&] { ++runs; });
        co_await o.call([&](coflux::environment&) { runs += 10; });
        auto owned = std::make_unique<int>(100);
        co_await o.call([&runs, owned = std::move(owned)] { runs += *owned; });
        co_return runs;
    };
    auto t = root(s.env);
    EXPECT_EQ(s.executor.run_all(), 1U);
    EXPECT_EQ(t.get(), 1);
}

TEST(once, makes_the_environment_of_its_call_the_parent_of_what_the_function_forks) {
    by_hand s;
    const auto root = [](coflux::environment&) -> coflux::task<int, hand> {
        once o;
        int sum = 0;
        const auto adds = [](coflux::environment&, borrowed<int> to) -> coflux::fork<void, hand> {
            co_await coflux::yield();
            ++*to;
        };
        co_await o.call([&](coflux::environment& here) { adds(here, borrowed(sum)).attach(); });
        co_return sum;
    };
    auto t = root(s.env);
    s.drive();
    EXPECT_EQ(t.get(), 1) << "the call ends after what was forked in it";
}

TEST(once, that_fails_tells_its_caller_and_lets_the_next_try) {
    by_hand s;
    once o;
    journal j;
    manual_reset_event ready;
    auto a = asks(s.env, borrowed(o), &j, "a", borrowed(ready), true);
    std::string error;
    a.on_error([&error](const std::exception_ptr& e) {
        try {
            std::rethrow_exception(e);
        } catch (const std::runtime_error& why) {
            error = why.what();
        }
    });
    auto b = asks(s.env, borrowed(o), &j, "b", borrowed(ready));
    s.drive();
    ready.set();
    s.drive();
    EXPECT_EQ(error, "a");
    EXPECT_TRUE(o.done());
    EXPECT_EQ(j.lines(), (lines{"a begins", "a dies", "b begins", "b did it", "b goes on", "b dies"}));
}

TEST(once_stop, of_the_one_that_runs_its_function_lets_the_next_try) {
    by_hand s;
    once o;
    journal j;
    manual_reset_event ready;
    auto a = asks(s.env, borrowed(o), &j, "a", borrowed(ready));
    auto b = asks(s.env, borrowed(o), &j, "b", borrowed(ready));
    s.drive();
    a.request_stop();
    s.drive();
    EXPECT_FALSE(o.done());
    EXPECT_EQ(j.lines(), (lines{"a begins", "a dies", "b begins"}));
    ready.set();
    s.drive();
    EXPECT_TRUE(o.done());
}

TEST(once_stop, of_a_waiter_leaves_the_others) {
    by_hand s;
    once o;
    journal j;
    manual_reset_event ready;
    auto a = asks(s.env, borrowed(o), &j, "a", borrowed(ready));
    auto b = asks(s.env, borrowed(o), &j, "b", borrowed(ready));
    auto c = asks(s.env, borrowed(o), &j, "c", borrowed(ready));
    s.drive();
    b.request_stop();
    s.drive();
    EXPECT_TRUE(b.done());
    ready.set();
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"a begins", "b dies", "a did it", "a goes on", "a dies", "c goes on", "c dies"}));
}

coflux::fork<void, pool> calls(coflux::environment&, borrowed<std::vector<once>> all, borrowed<std::vector<int>> done) {
    for (std::size_t i = 0; i < all->size(); ++i) {
        co_await (*all)[i].call([&] { ++(*done)[i]; });  // not atomic: that it is done once orders it
        if ((*done)[i] != 1) ADD_FAILURE() << "done " << (*done)[i] << " times";
    }
}

TEST(once, is_done_once_on_two_threads) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    const auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        std::vector<once> all(coflux_test::repetitions(80'000));
        std::vector<int> done(all.size());
        std::vector<coflux::fork<void, pool>> forks;
        for (int i = 0; i < 4; ++i) forks.push_back(calls(here, borrowed(all), borrowed(done)));
        co_await coflux::when_all(std::move(forks));
    };
    root(env).get();
}

}  // namespace
