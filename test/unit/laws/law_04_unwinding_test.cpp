// Law 4, second half: how a stopped coroutine ends, and what its awaiter sees.
#include <coflux/coflux.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::mortal;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;
using lines = std::vector<std::string>;

template <typename E>
coflux::fork<void, E> slow_child(auto&&, journal* j) {
    const mortal local(*j, "child's local");
    for (int i = 0; i < 4; ++i) co_await coflux::yield();
    j->write("child ends");
}

template <typename E>
coflux::fork<void, E> stops(auto&&, journal* j) {
    auto&& here = co_await coflux::context();
    const mortal first(*j, "first local");
    slow_child<E>(here, j).attach();
    const mortal second(*j, "second local");
    j->write("stops");
    co_await coflux::this_coroutine::stop();
    j->write("went past");
}

template <typename E>
coflux::task<void, E> awaits_the_outcome(auto&&, journal* j) {
    auto&& here = co_await coflux::context();
    auto o = co_await coflux::as_outcome(stops<E>(here, j));
    EXPECT_TRUE(o.is_stopped());
    j->write("awaiter goes on");
}

/// Without its journal of what stopped first, which depends on the executor.
lines unwound(const journal& j) {
    lines all = j.lines();
    EXPECT_EQ(std::erase(all, "stops"), 1U);
    return all;
}

TEST(law_04_unwinding, locals_die_youngest_first_after_the_children_are_joined_and_before_the_awaiter_goes_on) {
    const lines expected{"child ends", "child's local dies", "second local dies", "first local dies",
                         "awaiter goes on"};
    {
        manual_executor by_hand;
        auto env = coflux::make_environment(by_hand);
        journal j;
        auto t = awaits_the_outcome<manual_executor>(env, &j);
        by_hand.run_all();
        t.join();
        EXPECT_EQ(unwound(j), expected);
    }
    for (const std::size_t threads : {1U, 2U}) {
        pool workers(threads);
        auto env = coflux::make_environment(workers);
        journal on_pool;
        awaits_the_outcome<pool>(env, &on_pool).get();
        EXPECT_EQ(unwound(on_pool), expected);
        journal on_noop;
        awaits_the_outcome<noop>(env, &on_noop).get();
        EXPECT_EQ(unwound(on_noop), expected);
    }
    auto env = coflux::make_environment();
    journal nowhere;
    awaits_the_outcome<noop>(env, &nowhere).get();
    EXPECT_EQ(unwound(nowhere), expected);
}

TEST(law_04_unwinding, a_call_that_stops_is_unwound_before_its_caller_goes_on) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    journal j;
    auto root = [](auto&&, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        constexpr auto callee = [](auto&&, journal* inner) -> coflux::call<int> {
            const mortal local(*inner, "callee's local");
            co_await coflux::this_coroutine::stop();
            co_return 1;
        };
        auto o = co_await coflux::as_outcome(callee(here, log));
        EXPECT_TRUE(o.is_stopped());
        log->write("caller goes on");
    }(env, &j);
    by_hand.run_all();
    ASSERT_TRUE(root.done());
    EXPECT_EQ(j.lines(), (lines{"callee's local dies", "caller goes on"}));
}

TEST(law_04_unwinding, nothing_is_thrown_and_no_handler_runs) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    journal j;
    struct asks {
        journal* in;
        ~asks() { in->write(std::uncaught_exceptions() == 0 ? "no exception" : "exception"); }
    };
    auto root = [](auto&&, journal* log) -> coflux::task<void, manual_executor> {
        const asks local{log};
        try {
            co_await coflux::this_coroutine::stop();
        } catch (...) {
            log->write("caught");
        }
        log->write("went past");
    }(env, &j);
    by_hand.run_all();
    ASSERT_TRUE(root.done());
    EXPECT_EQ(j.lines(), lines{"no exception"});
}

template <typename E>
coflux::fork<int, E> stops_at_once(auto&&) {
    co_await coflux::this_coroutine::stop();
    co_return 1;
}

template <typename E>
coflux::fork<int, E> stopped_in_turn(auto&&, journal* j, bool late) {
    auto&& here = co_await coflux::context();
    const mortal local(*j, "parent's local");
    auto f = stops_at_once<E>(here);
    if (late) co_await coflux::yield();  // the child has ended by now
    if (late) co_await coflux::yield();
    (void)co_await std::move(f);
    j->write("went past");
    co_return 1;
}

template <typename E, typename... Executors>
void expect_stopped_in_turn(bool late, Executors&... executors) {
    auto env = coflux::make_environment(executors...);
    journal j;
    auto root = [](auto&&, journal* log, bool is_late) -> coflux::task<void, E> {
        auto&& here = co_await coflux::context();
        auto o = co_await coflux::as_outcome(stopped_in_turn<E>(here, log, is_late));
        EXPECT_TRUE(o.is_stopped());
        log->write("grandparent goes on");
    }(env, &j, late);
    if constexpr (std::is_same_v<E, manual_executor>) (executors.run_all(), ...);
    root.join();
    EXPECT_EQ(j.lines(), (lines{"parent's local dies", "grandparent goes on"}));
}

TEST(law_04_unwinding, a_stopped_child_stops_its_awaiter_in_turn_until_one_asks_for_the_outcome) {
    for (const bool late : {false, true}) {
        manual_executor by_hand;
        expect_stopped_in_turn<manual_executor>(late, by_hand);
        pool workers(2);
        expect_stopped_in_turn<pool>(late, workers);
        expect_stopped_in_turn<noop>(late, workers);
        expect_stopped_in_turn<noop>(late);
    }
}

TEST(law_04_unwinding, a_stopped_child_that_is_not_awaited_does_not_stop_its_scope) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto root = [](auto&&) -> coflux::task<int, manual_executor> {
        auto&& here = co_await coflux::context();
        stops_at_once<manual_executor>(here).attach();
        co_await coflux::yield();
        co_await coflux::yield();
        co_return 5;
    }(env);
    by_hand.run_all();
    EXPECT_EQ(root.get(), 5);
}

TEST(law_04_unwinding, an_error_is_not_lost_to_a_stop) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto root = [](auto&&) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        constexpr auto fails = [](auto&&) -> coflux::fork<void, manual_executor> {
            co_await coflux::this_coroutine::executor();
            throw std::runtime_error("lost?");
        };
        constexpr auto parent = [](auto&&, auto child) -> coflux::fork<void, manual_executor> {
            auto&& below = co_await coflux::context();
            child(below).attach();
            co_await coflux::this_coroutine::stop();
        };
        auto o = co_await coflux::as_outcome(parent(here, fails));
        EXPECT_TRUE(o.has_error());
    }(env);
    by_hand.run_all();
    ASSERT_TRUE(root.done());
    EXPECT_NO_THROW(root.join());
}

TEST(law_04_unwinding, an_error_beside_a_stop_in_when_all_is_thrown) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto root = [](auto&&) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        constexpr auto fails = [](auto&&) -> coflux::fork<int, manual_executor> {
            co_await coflux::yield();
            throw std::runtime_error("beside a stop");
        };
        auto a = stops_at_once<manual_executor>(here);
        auto b = fails(here);
        auto c = stops_at_once<manual_executor>(here);
        EXPECT_THROW((void)co_await coflux::when_all(std::move(a), std::move(b), std::move(c)), std::runtime_error);
    }(env);
    by_hand.run_all();
    ASSERT_TRUE(root.done());
    EXPECT_NO_THROW(root.join());
}

TEST(law_04_unwinding, what_a_stopped_coroutine_throws_is_an_error_and_no_stop) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto root = [](auto&&) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        here.request_stop();
        throw std::runtime_error("before the stop point");
    }(env);
    by_hand.run_all();
    EXPECT_THROW(root.join(), std::runtime_error);
}

TEST(law_04_unwinding, a_request_after_the_last_stop_point_changes_nothing) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto root = [](auto&&) -> coflux::task<int, manual_executor> {
        auto&& here = co_await coflux::context();
        co_await coflux::yield();
        here.request_stop();
        co_return 9;
    }(env);
    by_hand.run_all();
    EXPECT_EQ(root.get(), 9);
}

TEST(law_04_unwinding, a_request_to_what_has_ended_changes_nothing) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto root = [](auto&&) -> coflux::task<int, manual_executor> { co_return 9; }(env);
    by_hand.run_all();
    root.request_stop();
    EXPECT_EQ(root.get(), 9);
}

// --- a destructor that throws ends the process, as it does where an exception unwinds --------------------------------

struct throws_at_its_end {
    ~throws_at_its_end() noexcept(false) { throw std::runtime_error("from a destructor"); }
};
template <typename E>
coflux::fork<void, E> stopped_above_a_throw(auto&&) {
    const throws_at_its_end local;
    co_await coflux::this_coroutine::stop();
}
coflux::call<void> stopped_call_above_a_throw(auto&&) {
    const throws_at_its_end local;
    co_await coflux::this_coroutine::stop();
}
template <typename Make>
void stop_above_a_throw(Make make) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto root = [](auto&&, Make m) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::as_outcome(m(here));
    }(env, make);
    by_hand.run_all();
}

TEST(law_04_unwinding_death, a_destructor_that_throws_ends_the_process_with_a_message) {
    constexpr const char* message =
        "a destructor threw while [a-z_:() ]*above_a_throw was being stopped: from a destructor";
    EXPECT_DEATH(stop_above_a_throw([](auto& here) { return stopped_above_a_throw<manual_executor>(here); }), message);
    EXPECT_DEATH(stop_above_a_throw([](auto& here) { return stopped_above_a_throw<noop>(here); }), message);
    EXPECT_DEATH(stop_above_a_throw([](auto& here) { return stopped_call_above_a_throw(here); }), message);
}

}  // namespace
