#include <coflux/core/environment_object.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "stage.hpp"
#include "support/executors.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::gives;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::mortal;
using coflux_test::stage;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;
using lines = std::vector<std::string>;

TEST(join, of_an_environment_without_children_returns_as_often_as_it_is_asked) {
    stage<noop> s;
    const auto root = [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        co_await sub.join();
        co_await sub.join();
    };
    auto t = root(s.env);
    EXPECT_TRUE(t.done());
    t.get();
}

TEST(join, waits_for_what_is_not_awaited_and_the_environment_may_be_used_again) {
    stage<manual_executor> s;
    journal j;
    const auto root = [](coflux::environment&, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        for (int round = 0; round < 2; ++round) {
            gives<manual_executor>(sub, 3, [log] { log->write("child"); }).attach();
            gives<manual_executor>(sub, 1, [log] { log->write("child"); }).attach();
            co_await sub.join();
            log->write("joined");
        }
    };
    s.run(root(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"child", "child", "joined", "child", "child", "joined"}));
}

TEST(join, is_not_needed_when_the_handles_took_all_there_was) {
    stage<pool> s;
    const auto root = [](coflux::environment&) -> coflux::task<int, pool> {
        auto&& here = co_await coflux::context();
        int sum = 0;
        for (int i = 0; i < 100; ++i) {
            auto sub = coflux::make_environment(here);
            auto f = gives<pool>(sub, i % 3, [] { return 1; });
            sum += co_await std::move(f);
        }
        co_return sum;
    };
    EXPECT_EQ(s.run(root(s.env)), 100);
}

TEST(join, throws_the_first_error_and_has_the_others) {
    stage<manual_executor> s;
    const auto root = [](coflux::environment&) -> coflux::task<std::string, manual_executor> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        gives<manual_executor>(sub, 0, [] { throw std::runtime_error("first"); }).attach();
        gives<manual_executor>(sub, 1, [] { throw std::runtime_error("second"); }).attach();
        std::string seen;
        try {
            co_await sub.join();
        } catch (const std::runtime_error& e) {
            seen = e.what() + std::string(" and ") + std::to_string(coflux::other_errors().size());
        }
        co_await sub.join();  // thrown once
        co_return seen;
    };
    EXPECT_EQ(s.run(root(s.env)), "first and 1");
}

TEST(join, in_a_pool_meets_children_that_end_on_other_workers) {
    stage<pool> s;
    const auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (int round = 0; round < 200; ++round) {
            auto sub = coflux::make_environment(here);
            for (int i = 0; i < 4; ++i) gives<pool>(sub, i, [] {}).attach();
            co_await sub.join();
        }
    };
    s.run(root(s.env));
    EXPECT_EQ(s.frames().live(), 0U);
}

TEST(join, is_no_stop_point_where_the_stop_ended_no_child) {
    stage<manual_executor> s;
    journal j;
    const auto root = [](coflux::environment&, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        gives<manual_executor>(sub, 0, [log] { log->write("child"); }).attach();
        here.request_stop();
        co_await sub.join();
        log->write("joined");
        co_await coflux::yield();
        log->write("not reached");
    };
    auto t = root(s.env, &j);
    s.drive();
    EXPECT_EQ(j.lines(), (lines{"child", "joined"}));
    EXPECT_THROW(t.get(), coflux::task_stopped);
}

coflux::task<void, manual_executor> joins_what_is_stopped(coflux::environment&, bool keeps_value, journal* log) {
    auto&& here = co_await coflux::context();
    const mortal local(*log, "local");
    auto sub = coflux::make_environment(here);
    if (keeps_value) sub.finish_with_value();
    gives<manual_executor>(sub, 1'000, [log] { log->write("not reached"); }).attach();
    here.request_stop();
    co_await sub.join();
    log->write("joined");
}

TEST(join, stops_where_the_stop_ended_a_child_unless_it_finishes_with_its_value) {
    stage<manual_executor> s;
    journal j;
    auto stopped = joins_what_is_stopped(s.env, false, &j);
    s.drive();
    EXPECT_EQ(j.lines(), lines{"local dies"});
    EXPECT_THROW(stopped.get(), coflux::task_stopped);
    journal k;
    auto kept = joins_what_is_stopped(s.env, true, &k);
    s.drive();
    EXPECT_EQ(k.lines(), (lines{"joined", "local dies"}));
    EXPECT_NO_THROW(kept.get());
}

TEST(environment_object, that_dies_in_a_stopped_coroutine_is_joined_first) {
    stage<manual_executor> s;
    journal j;
    const auto root = [](coflux::environment&, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto stops = [](coflux::environment&, journal* l) -> coflux::fork<void, manual_executor> {
            auto&& within = co_await coflux::context();
            auto sub = coflux::make_environment(within);
            gives<manual_executor>(sub, 3, [l] { l->write("child"); }).attach();
            co_await coflux::this_coroutine::stop();
        }(here, log);
        const auto o = co_await coflux::as_outcome(std::move(stops));
        EXPECT_TRUE(o.is_stopped());
        log->write("stopped");
    };
    s.run(root(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"child", "stopped"}));
}

std::vector<std::string> handled;

void remember(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        handled.emplace_back(e.what());
    }
}

TEST(environment_object, hands_errors_of_roots_whose_handles_die_to_its_handler) {
    handled.clear();
    auto env = coflux::make_environment(noop{});
    env.on_unobserved_error(remember);
    {
        [[maybe_unused]] auto t = [](coflux::environment&) -> coflux::task<void, noop> {
            throw std::runtime_error("root");
            co_return;
        }(env);
    }
    EXPECT_EQ(handled, std::vector<std::string>{"root"});
}

TEST(environment_object, hands_its_handler_down_to_derived_ones) {
    handled.clear();
    auto env = coflux::make_environment(noop{});
    env.on_unobserved_error(remember);
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        gives<noop>(sub, 0, [] { throw std::runtime_error("left"); }).attach();
    }(env)
                                    .get();
    EXPECT_EQ(handled, std::vector<std::string>{"left"});
}

coflux::fork<void, manual_executor> never_driven(auto&&) {
    co_return;
}

void leaves_a_child() {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    never_driven(env).attach();
}

TEST(environment_object_death, with_a_live_child_is_refused_and_the_child_named) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(leaves_a_child(), "still alive: .*never_driven.*environment_object_test.cpp:[0-9]+");
    EXPECT_DEATH(leaves_a_child(), "an environment ends while coroutines made in it are alive");
}

coflux::fork<void, pool> comes_and_goes(coflux::environment&) {
    co_await coflux::yield();
    throw std::runtime_error("gone");
}
coflux::fork<void, pool> makes_others_for_ever(coflux::environment&, coflux::environment* in) {
    for (;;) {
        auto other = comes_and_goes(*in);
        co_await coflux::yield();
        (void)co_await coflux::as_outcome(std::move(other));
    }
}

TEST(environment_object_death, lists_the_living_while_they_run_and_end_and_others_begin) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    // A race would end the process before the second line.
    const auto leaves_them = [] {
        pool workers(2);
        auto env = coflux::make_environment(workers);
        for (int i = 0; i < 200; ++i) makes_others_for_ever(env, &env).attach();
        for (volatile int i = 0; i < 1'000'000;) i = i + 1;
    };
    for (int i = 0; i < 3; ++i)
        EXPECT_DEATH(leaves_them(),
                     "still alive: .*makes_others_for_ever(.|\n)*made in it are alive \\(listed above\\)");
}

TEST(environment_object_death, says_of_a_live_child_that_it_failed_and_waits_for_its_own) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto leaves_a_failed_parent = [] {
        manual_executor by_hand;
        auto env = coflux::make_environment(by_hand);
        [](auto&&) -> coflux::fork<void, manual_executor> {
            auto&& here = co_await coflux::context();
            never_driven(here).attach();
            throw std::runtime_error("before its child has ended");
        }(env)
                          .attach();
        by_hand.run_one();
    };
    EXPECT_DEATH(leaves_a_failed_parent(), "still alive: a coroutine that failed and waits for its children");
}

}  // namespace
