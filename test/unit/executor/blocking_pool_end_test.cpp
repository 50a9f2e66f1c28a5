// How a blocking pool ends, and what it does where there is no thread, or where the process is a child of fork().
#include <coflux/executor/blocking_pool.hpp>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/address_limit.hpp"
#include "support/iterations.hpp"
#include "support/no_hang.hpp"
#include "support/witness.hpp"
#include "watchdog.hpp"

namespace {

using coflux::abandon_on_stop;
using coflux::borrowed;
using coflux_test::flag;
using coflux_test::less_than_a_stack;
using coflux_test::lift_the_limit;
using coflux_test::limit_addresses_to;
using coflux_test::until;
using coflux_test::watchdog;
using blockers = coflux::blocking_pool;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;

template <typename E, typename F>
coflux::task<std::invoke_result_t<F>, E> calls(coflux::environment&, borrowed<blockers> threads, F f) {
    co_return co_await coflux::blocking(*threads, f);
}

TEST(blocking_pool_end, waits_for_calls_that_run_and_calls_that_wait_for_a_thread) {
    const watchdog guard("the end of a blocking pool");
    pool workers(1);
    auto env = coflux::make_environment(workers);
    std::optional<blockers> threads(std::in_place, coflux::blocking_pool_options{.max_threads = 1});
    flag begun;
    flag open;
    std::vector<coflux::task<int, pool>> all;
    for (int i = 0; i < 5; ++i) {
        all.push_back(calls<pool>(env, borrowed(*threads), [&begun, &open, i] {
            begun.set();
            open.wait();
            for (int n = 0; n < 100; ++n) std::this_thread::yield();
            return i;
        }));
    }
    begun.wait();  // a call that no thread has taken yet is queued, too
    until([&] { return threads->counters().queued == 4; });
    open.set();
    threads.reset();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].get(), i);
}

struct abandoned_state {
    flag runs;
    flag goes;
    std::atomic<bool> ended{false};
};
coflux::task<void, pool> leaves_behind(coflux::environment&, borrowed<blockers> threads, abandoned_state* s) {
    co_await coflux::blocking(
        *threads, abandon_on_stop,
        [](abandoned_state* of) {
            of->runs.set();
            of->goes.wait();
            for (int n = 0; n < 1000; ++n) std::this_thread::yield();
            of->ended = true;
        },
        s);
}
TEST(blocking_pool_end, waits_for_a_call_that_was_abandoned) {
    const watchdog guard("the end of a blocking pool");
    pool workers(1);
    auto env = coflux::make_environment(workers);
    abandoned_state s;
    {
        blockers threads;
        auto t = leaves_behind(env, borrowed(threads), &s);
        s.runs.wait();
        t.request_stop();
        t.join();
        EXPECT_FALSE(s.ended);
        s.goes.set();
    }
    EXPECT_TRUE(s.ended);
}

TEST(blocking_pool_end, of_one_that_never_called_anything_is_quick) {
    const watchdog guard("the end of a blocking pool");
    for (int i = 0; i < 100; ++i) const blockers threads;
}

class blocking_pool_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void ends_on_its_own_thread() {
    coflux_test::die_rather_than_hang();
    auto env = coflux::make_environment();
    auto t = [](coflux::environment&) -> coflux::task<void, noop> {
        blockers threads;
        co_await coflux::blocking(threads, [] {});
    }(env);
    t.join();
}
TEST_F(blocking_pool_death, of_one_that_ends_on_its_own_thread_says_so) {
    EXPECT_DEATH(ends_on_its_own_thread(), "a blocking pool is destroyed on one of its own threads");
}

[[noreturn]] void calls_on_one_that_ends() {
    coflux_test::die_rather_than_hang();
    pool workers(1);
    auto env = coflux::make_environment(workers);
    auto* const threads = new blockers({.name = "early"});
    abandoned_state s;
    auto t = leaves_behind(env, borrowed(*threads), &s);
    s.runs.wait();
    t.request_stop();
    t.join();
    std::thread destroyer([threads] { delete threads; });  // waits for the abandoned function
    for (;;) calls<pool>(env, borrowed(*threads), [] {}).get();
}
TEST_F(blocking_pool_death, of_a_call_on_a_pool_that_ends_names_the_pool) {
    EXPECT_DEATH(calls_on_one_that_ends(), "blocking\\(\\) on a blocking pool \\(early\\) that ends: it outlives the");
}

// --- the process -----------------------------------------------------------------------------------------------------

/// At the end of main() an abandoned function does not hold up the process, and a loop of calls leaves no thread.
[[noreturn]] void ends_beside_an_abandoned_call() {
    coflux_test::die_rather_than_hang();
    static abandoned_state s;
    {
        pool workers(1);
        auto env = coflux::make_environment(workers);
        auto t = leaves_behind(env, borrowed(blockers::shared()), &s);
        s.runs.wait();
        calls<pool>(env, borrowed(blockers::shared()), [] {}).get();
        t.request_stop();
        t.join();
    }
    std::exit(3);
}
TEST_F(blocking_pool_death, of_the_process_does_not_wait_for_an_abandoned_call) {
    EXPECT_EXIT(ends_beside_an_abandoned_call(), testing::ExitedWithCode(3), "");
}

/// Death tests in the fast style are what the tests are about: a fork() of this process that goes on in the child.
class blocking_pool_process_death : public testing::Test {
    void SetUp() override {
        if (COFLUX_TEST_TSAN) GTEST_SKIP() << "ThreadSanitizer ends a child that makes threads";
        GTEST_FLAG_SET(death_test_style, "fast");
    }
};

TEST_F(blocking_pool_process_death, a_child_that_uses_the_pool_of_its_parent_is_refused) {
    blockers threads({.name = "parental"});
    auto env = coflux::make_environment();
    const auto seven = [] { return 7; };
    EXPECT_EQ(calls<noop>(env, borrowed(threads), seven).get(), 7);
    EXPECT_DEATH((void)calls<noop>(env, borrowed(threads), seven).get(),
                 "a blocking pool \\(parental\\) that was made before fork\\(\\) is used in the child");
    EXPECT_EQ(calls<noop>(env, borrowed(threads), seven).get(), 7) << "the parent's is as it was";
}

TEST_F(blocking_pool_process_death, a_child_may_destroy_the_pool_make_its_own_and_end) {
    std::optional<blockers> threads(std::in_place);
    auto env = coflux::make_environment();
    const auto seven = [] { return 7; };
    EXPECT_EQ(calls<noop>(env, borrowed(*threads), seven).get(), 7);
    EXPECT_EQ(calls<noop>(env, borrowed(blockers::shared()), seven).get(), 7);
    EXPECT_EXIT(
        {
            coflux_test::die_rather_than_hang();
            threads.reset();
            blockers own;
            auto of_child = coflux::make_environment();
            const int value = calls<noop>(of_child, borrowed(own), seven).get();
            if (coflux_test::sanitized) std::_Exit(value);  // what the parent's threads hold would be reported as leaks
            std::exit(value);                               // with the destructors of static objects
        },
        testing::ExitedWithCode(7), "");
}

// --- no thread -------------------------------------------------------------------------------------------------------

class blocking_pool_failure : public testing::Test {
protected:
    void SetUp() override {
        if (coflux_test::sanitized) GTEST_SKIP() << "a sanitizer needs the addresses";
        GTEST_FLAG_SET(death_test_style, "threadsafe");
    }
};

[[noreturn]] void has_no_thread() {
    coflux_test::die_rather_than_hang();
    pool workers(1);
    auto env = coflux::make_environment(workers);
    blockers threads({.name = "none"});
    limit_addresses_to(less_than_a_stack);
    auto t = calls<pool>(env, borrowed(threads), [] { return 7; });
    try {
        (void)t.get();
        std::exit(1);
    } catch (const std::system_error& e) {
        if (std::string(e.what()).find("the blocking pool none has no thread, and cannot have one") ==
            std::string::npos)
            std::exit(2);
    }
    if (threads.counters().threads != 0 || threads.counters().queued != 0) std::exit(3);
    lift_the_limit();
    std::exit(calls<pool>(env, borrowed(threads), [] { return 0; }).get());
}
TEST_F(blocking_pool_failure, to_have_a_thread_is_thrown_where_there_is_none_and_the_next_call_tries_again) {
    EXPECT_EXIT(has_no_thread(), testing::ExitedWithCode(0), "");
}

[[noreturn]] void has_one_thread() {
    coflux_test::die_rather_than_hang();
    pool workers(1);
    auto env = coflux::make_environment(workers);
    blockers threads;
    flag runs;
    flag goes;
    auto first = calls<pool>(env, borrowed(threads), [&] {
        runs.set();
        goes.wait();
        return 3;
    });
    runs.wait();
    limit_addresses_to(less_than_a_stack);
    auto second = calls<pool>(env, borrowed(threads), [] { return 4; });
    until([&] { return threads.counters().queued == 1; });
    if (threads.counters().threads != 1) std::exit(1);
    goes.set();
    std::exit(first.get() == 3 && second.get() == 4 ? 0 : 2);
}
TEST_F(blocking_pool_failure, to_have_another_thread_lets_the_call_wait_for_those_that_exist) {
    EXPECT_EXIT(has_one_thread(), testing::ExitedWithCode(0), "");
}

}  // namespace
