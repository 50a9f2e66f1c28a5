// A stop before, while and after a function runs on a blocking thread.
#include <coflux/executor/blocking_pool.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/executors.hpp"
#include "support/iterations.hpp"
#include "support/witness.hpp"
#include "watchdog.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::abandon_on_stop;
using coflux::borrowed;
using coflux_test::flag;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::mortal;
using coflux_test::until;
using coflux_test::watchdog;
using blockers = coflux::blocking_pool;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;
using lines = std::vector<std::string>;

/// A function that says when it runs, and runs until it is let go.
struct stage {
    journal log;
    flag runs;
    flag goes;
};

template <typename E>
coflux::task<int, E> waits(coflux::environment&, borrowed<blockers> threads, borrowed<stage> s) {
    const mortal local(s->log, "local");
    const mortal result = co_await coflux::blocking(*threads, [&] {
        s->runs.set();
        s->goes.wait();
        s->log.write("function ends");
        return mortal(s->log, "result");
    });
    s->log.write("goes on");
    co_return 7;
}

coflux::task<void, pool> is_stopped_before(coflux::environment&, borrowed<blockers> threads,
                                           borrowed<std::atomic<int>> ran) {
    auto&& here = co_await coflux::context();
    here.request_stop();
    co_await coflux::blocking(*threads, [&] { ++*ran; });
    ADD_FAILURE() << "the await is a stop point";
}
TEST(blocking_pool_stop, before_the_call_means_that_it_is_not_made) {
    const watchdog guard("a blocking call");
    pool workers(1);
    blockers threads;
    auto env = coflux::make_environment(workers);
    std::atomic<int> ran{0};
    is_stopped_before(env, borrowed(threads), borrowed(ran)).join();
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(threads.counters().threads, 0U);
}

template <typename E>
coflux::task<void, E> counts(coflux::environment&, borrowed<blockers> threads, borrowed<std::atomic<int>> ran) {
    co_await coflux::blocking(*threads, [&] { ++*ran; });
}
TEST(blocking_pool_stop, takes_out_a_call_that_waits_for_a_thread) {
    const watchdog guard("a blocking call that is stopped in the queue");
    pool workers(2);
    blockers threads({.max_threads = 1});
    auto env = coflux::make_environment(workers);
    stage s;
    std::atomic<int> ran{0};
    auto first = waits<pool>(env, borrowed(threads), borrowed(s));
    s.runs.wait();
    auto second = counts<pool>(env, borrowed(threads), borrowed(ran));
    until([&] { return threads.counters().queued == 1; });
    auto third = counts<pool>(env, borrowed(threads), borrowed(ran));
    until([&] { return threads.counters().queued == 2; });
    second.request_stop();
    second.join();  // while the first still runs
    EXPECT_EQ(threads.counters().queued, 1U);
    EXPECT_EQ(ran, 0);
    s.goes.set();
    EXPECT_EQ(first.get(), 7);
    third.get();
    EXPECT_EQ(ran, 1);
}

TEST(blocking_pool_stop, waits_for_the_function_that_runs_and_then_is_taken) {
    const watchdog guard("a blocking call that is stopped while it runs");
    pool workers(1);
    blockers threads;
    auto env = coflux::make_environment(workers);
    stage s;
    auto t = waits<pool>(env, borrowed(threads), borrowed(s));
    s.runs.wait();
    t.request_stop();
    t.request_stop();
    EXPECT_FALSE(t.done());
    EXPECT_EQ(s.log.lines(), lines{}) << "what the function may use is alive";
    s.goes.set();
    EXPECT_THROW((void)t.get(), coflux::task_stopped);
    EXPECT_EQ(s.log.lines(), (lines{"function ends", "result dies", "local dies"}));
}

TEST(blocking_pool_stop, of_a_coroutine_without_an_executor_is_taken_after_the_function) {
    const watchdog guard("a blocking call that is stopped while it runs");
    blockers threads;
    auto env = coflux::make_environment();
    stage s;
    auto t = waits<noop>(env, borrowed(threads), borrowed(s));
    s.runs.wait();
    env.request_stop();
    s.goes.set();
    EXPECT_THROW((void)t.get(), coflux::task_stopped);
    EXPECT_EQ(s.log.lines(), (lines{"function ends", "result dies", "local dies"}));
}

TEST(blocking_pool_stop, does_not_lose_what_the_function_throws) {
    const watchdog guard("a blocking call that fails");
    pool workers(1);
    blockers threads;
    auto env = coflux::make_environment(workers);
    flag runs;
    flag goes;
    auto t = [](coflux::environment&, borrowed<blockers> to, borrowed<flag> runs,
                borrowed<flag> goes) -> coflux::task<int, pool> {
        co_return co_await coflux::blocking(*to, [&]() -> int {
            runs->set();
            goes->wait();
            throw std::runtime_error("disk full");
        });
    }(env, borrowed(threads), borrowed(runs), borrowed(goes));
    runs.wait();
    t.request_stop();
    goes.set();
    EXPECT_THROW((void)t.get(), std::runtime_error);
}

TEST(blocking_pool_stop, that_comes_after_the_function_has_ended_takes_nothing_back) {
    const watchdog guard("a blocking call");
    manual_executor by_hand;
    blockers threads;
    auto env = coflux::make_environment(by_hand);
    stage s;
    s.goes.set();
    auto t = waits<manual_executor>(env, borrowed(threads), borrowed(s));
    ASSERT_TRUE(by_hand.run_one());
    until([&] { return by_hand.pending() != 0; });
    t.request_stop();
    by_hand.run_all();
    EXPECT_EQ(t.get(), 7);
    EXPECT_EQ(s.log.lines(), (lines{"function ends", "goes on", "result dies", "local dies"}));
}

TEST(blocking_pool_stop, of_a_loser_waits_for_its_function) {
    const watchdog guard("a race of blocking calls");
    pool workers(2);
    blockers threads;
    auto env = coflux::make_environment(workers);
    stage s;
    auto t = [](coflux::environment&, borrowed<blockers> to, borrowed<stage> s) -> coflux::task<std::size_t, pool> {
        const auto slow = [&] {
            s->runs.set();
            s->goes.wait();
            s->log.write("slow ends");
            return 1;
        };
        const auto quick = [&] {
            s->runs.wait();
            return s->goes.set(), 2;
        };
        const auto won = co_await coflux::when_any(coflux::blocking(*to, slow), coflux::blocking(*to, quick));
        s->log.write("goes on");
        co_return won.index();
    }(env, borrowed(threads), borrowed(s));
    (void)t.get();
    EXPECT_EQ(s.log.lines(), (lines{"slow ends", "goes on"}));
}

coflux::task<int, pool> polls(coflux::environment&, borrowed<blockers> threads, borrowed<flag> runs) {
    const auto stop = co_await coflux::this_coroutine::stop_token();
    co_return co_await coflux::blocking(*threads, [&] {
        runs->set();
        until([&] { return stop.stop_requested(); });
        return 1;
    });
}
TEST(blocking_pool_stop, is_seen_by_a_function_that_asks_the_coroutines_token) {
    const watchdog guard("a function that waits for a stop");
    pool workers(1);
    blockers threads;
    auto env = coflux::make_environment(workers);
    // Often enough for a function that sees the request, and ends, before the request has come to its wait.
    for (std::size_t i = 0; i < coflux_test::repetitions(8000); ++i) {
        flag runs;
        auto t = polls(env, borrowed(threads), borrowed(runs));
        runs.wait();
        t.request_stop();
        EXPECT_THROW((void)t.get(), coflux::task_stopped);
    }
}

// --- abandon_on_stop -------------------------------------------------------------------------------------------------

/// The objects that an abandoned function uses belong to no coroutine.
struct shared_stage {
    std::atomic<int> ran{0};
    flag runs;
    flag goes;
    flag ended;
};

int works(shared_stage* s, const mortal&, bool fails) {
    ++s->ran;
    s->runs.set();
    s->goes.wait();
    if (fails) throw std::runtime_error("too late");
    return 5;
}
struct ends_with {
    explicit ends_with(shared_stage* s) noexcept : of(s) {}
    ends_with(ends_with&& other) noexcept : of(std::exchange(other.of, nullptr)) {}
    ends_with& operator=(ends_with&&) = delete;
    ~ends_with() {
        if (of != nullptr) of->ended.set();
    }
    shared_stage* of;
};

coflux::task<int, pool> abandons(coflux::environment&, borrowed<blockers> threads, shared_stage* s, journal* log,
                                 bool fails) {
    const mortal local(*log, "local");
    co_return co_await coflux::blocking(
        *threads, abandon_on_stop,
        [](shared_stage* of, const mortal& m, bool throws, ends_with&&) { return works(of, m, throws); }, s,
        mortal(*log, "argument"), fails, ends_with(s));
}

coflux::task<int, pool> calls_nothing(coflux::environment&, borrowed<blockers> threads) {
    co_return co_await coflux::blocking(*threads, [] { return 1; });
}

TEST(blocking_pool_abandon, gives_the_result_where_no_stop_comes) {
    const watchdog guard("an abandonable call");
    pool workers(1);
    blockers threads;
    auto env = coflux::make_environment(workers);
    shared_stage s;
    s.goes.set();
    journal log;
    EXPECT_EQ(abandons(env, borrowed(threads), &s, &log, false).get(), 5);
    EXPECT_THROW((void)abandons(env, borrowed(threads), &s, &log, true).get(), std::runtime_error);
    EXPECT_EQ(log.lines(), (lines{"argument dies", "local dies", "argument dies", "local dies"}));
}

TEST(blocking_pool_abandon, lets_the_coroutine_stop_at_once_and_the_function_end_by_itself) {
    const watchdog guard("an abandoned call");
    for (const bool fails : {false, true}) {
        pool workers(1);
        blockers threads;
        auto env = coflux::make_environment(workers);
        shared_stage s;
        journal log;
        auto t = abandons(env, borrowed(threads), &s, &log, fails);
        s.runs.wait();
        t.request_stop();
        EXPECT_THROW((void)t.get(), coflux::task_stopped);  // while the function still runs
        EXPECT_EQ(log.lines(), lines{"local dies"});
        s.goes.set();
        s.ended.wait();
        EXPECT_EQ(log.lines().size(), 2U);
        EXPECT_EQ(s.ran, 1);
        until([&] { return threads.counters().idle == 1; });  // it may still be busy with what dies
        EXPECT_EQ(calls_nothing(env, borrowed(threads)).get(), 1) << "its thread goes on";
        EXPECT_EQ(threads.counters().threads, 1U);
    }
}

TEST(blocking_pool_abandon, takes_out_a_call_that_waits_for_a_thread) {
    const watchdog guard("an abandonable call that is stopped in the queue");
    pool workers(2);
    blockers threads({.max_threads = 1});
    auto env = coflux::make_environment(workers);
    stage busy;
    auto first = waits<pool>(env, borrowed(threads), borrowed(busy));
    busy.runs.wait();
    shared_stage s;
    journal log;
    auto second = abandons(env, borrowed(threads), &s, &log, false);
    until([&] { return threads.counters().queued == 1; });
    second.request_stop();
    second.join();
    s.ended.wait();
    EXPECT_EQ(log.lines(), (lines{"argument dies", "local dies"}));
    busy.goes.set();
    EXPECT_EQ(first.get(), 7);
    EXPECT_EQ(s.ran, 0);
}

coflux::task<int, noop> one_more(coflux::environment&, borrowed<blockers> threads) {
    co_return co_await coflux::blocking(*threads, [] { return 1; });
}
/// Calls on the pool when it dies, and waits for that.
struct calls_as_it_dies {
    calls_as_it_dies(blockers& on, flag& then) noexcept : threads(&on), done(&then) {}
    calls_as_it_dies(calls_as_it_dies&& other) noexcept
        : threads(std::exchange(other.threads, nullptr)),
          done(other.done) {}
    calls_as_it_dies& operator=(calls_as_it_dies&&) = delete;
    ~calls_as_it_dies() {
        if (threads == nullptr) return;
        auto env = coflux::make_environment();
        if (one_more(env, borrowed(*threads)).get() == 1) done->set();
    }
    blockers* threads;
    flag* done;
};
TEST(blocking_pool_abandon, lets_what_dies_on_its_thread_call_on_the_pool) {
    const watchdog guard("a call by what an abandoned call leaves");
    pool workers(1);
    blockers threads;
    auto env = coflux::make_environment(workers);
    shared_stage s;
    flag done;
    auto t = [](coflux::environment&, borrowed<blockers> to, shared_stage* s, flag* done) -> coflux::task<void, pool> {
        co_await coflux::blocking(
            *to, abandon_on_stop,
            [](shared_stage* of, const calls_as_it_dies&) {
                of->runs.set();
                of->goes.wait();
            },
            s, calls_as_it_dies(*to, *done));
    }(env, borrowed(threads), &s, &done);
    s.runs.wait();
    t.request_stop();
    t.join();
    s.goes.set();
    done.wait();
}

TEST(blocking_pool_abandon, keeps_what_is_not_awaited_no_longer_than_its_handle) {
    blockers threads;
    journal log;
    {
        const auto unused = coflux::blocking(threads, abandon_on_stop, [](const mortal&) {}, mortal(log, "argument"));
    }
    EXPECT_EQ(log.lines(), lines{"argument dies"});
}

}  // namespace
