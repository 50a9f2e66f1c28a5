#include <coflux/executor/blocking_pool.hpp>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

#include "support/executors.hpp"
#include "support/left_await.hpp"
#include "support/witness.hpp"
#include "watchdog.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux_test::flag;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::mortal;
using coflux_test::thread_executor;
using coflux_test::until;
using coflux_test::watchdog;
using blockers = coflux::blocking_pool;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;
using lines = std::vector<std::string>;

/// `f` called on `threads`, by a root on E.
template <typename E, typename F>
coflux::task<std::invoke_result_t<F>, E> calls(coflux::environment&, borrowed<blockers> threads, F f) {
    co_return co_await coflux::blocking(*threads, f);
}
/// The same, whose child on a pool it is.
template <typename F>
coflux::fork<std::invoke_result_t<F>, pool> call_of(coflux::environment&, borrowed<blockers> threads, F f) {
    co_return co_await coflux::blocking(*threads, f);
}

TEST(blocking_pool, calls_on_a_thread_of_its_own_and_resumes_on_the_coroutines_executor) {
    const watchdog guard("a blocking call");
    thread_executor own;
    blockers threads;
    auto env = coflux::make_environment(own);
    auto t = [](coflux::environment&, borrowed<blockers> to) -> coflux::task<bool, thread_executor> {
        const auto here = std::this_thread::get_id();
        const auto there = co_await coflux::blocking(*to, [] { return std::this_thread::get_id(); });
        co_return here != there&& std::this_thread::get_id() == here;
    }(env, borrowed(threads));
    EXPECT_TRUE(t.get());
}

TEST(blocking_pool, queues_its_coroutine_and_does_not_run_it) {
    const watchdog guard("a blocking call");
    manual_executor by_hand;
    blockers threads;
    auto env = coflux::make_environment(by_hand);
    auto t = calls<manual_executor>(env, borrowed(threads), [] { return 7; });
    ASSERT_TRUE(by_hand.run_one());
    until([&] { return by_hand.pending() != 0; });
    EXPECT_FALSE(t.done());
    by_hand.run_all();
    EXPECT_EQ(t.get(), 7);
}

coflux::task<void, pool> takes_results(coflux::environment&, borrowed<blockers> threads) {
    int local = 1;
    co_await coflux::blocking(*threads, [&] { ++local; });
    EXPECT_EQ(local, 2);
    int& same = co_await coflux::blocking(*threads, [&]() -> int& { return local; });
    EXPECT_EQ(&same, &local);
    const int& fixed = co_await threads->run([&]() -> const int& { return local; });
    EXPECT_EQ(&fixed, &local);
    const std::unique_ptr<int> owned = co_await threads->run([&] { return std::make_unique<int>(local); });
    EXPECT_EQ(*owned, 2);
    auto mine = std::make_unique<int>(5);
    auto moves = [own = std::move(mine)]() mutable { return std::move(own); };
    const auto moved = co_await coflux::blocking(*threads, std::move(moves));
    EXPECT_EQ(*moved, 5);
    const auto aligned = co_await coflux::blocking(*threads, [] { return coflux_test::over_aligned(9); });
    EXPECT_EQ(aligned.value, 9);
}
TEST(blocking_pool, gives_values_references_and_what_only_moves) {
    const watchdog guard("blocking calls");
    pool workers(1);
    blockers threads;
    auto env = coflux::make_environment(workers);
    takes_results(env, borrowed(threads)).get();
}

struct counting_function {
    int calls = 0;
    int operator()() { return ++calls; }
    counting_function() = default;
    counting_function(const counting_function&) = delete;
    counting_function& operator=(const counting_function&) = delete;
};
TEST(blocking_pool, calls_a_named_function_object_where_it_is) {
    const watchdog guard("blocking calls");
    pool workers(1);
    blockers threads;
    auto env = coflux::make_environment(workers);
    auto t = [](coflux::environment&, borrowed<blockers> to) -> coflux::task<int, pool> {
        counting_function f;
        (void)co_await coflux::blocking(*to, f);
        (void)co_await coflux::blocking(*to, f);
        co_return f.calls;
    }(env, borrowed(threads));
    EXPECT_EQ(t.get(), 2);
}

TEST(blocking_pool, lets_what_is_to_be_awaited_be_named_and_awaited_once) {
    const watchdog guard("a blocking call");
    pool workers(1);
    blockers threads;
    auto env = coflux::make_environment(workers);
    auto t = [](coflux::environment&, borrowed<blockers> to) -> coflux::task<int, pool> {
        auto later = coflux::blocking(*to, [kept = std::make_unique<int>(3)] { return *kept; });
        co_await coflux::yield();
        co_return co_await std::move(later);
    }(env, borrowed(threads));
    EXPECT_EQ(t.get(), 3);
}

TEST(blocking_pool, throws_what_the_function_throws) {
    const watchdog guard("a blocking call");
    pool workers(1);
    blockers threads;
    auto env = coflux::make_environment(workers);
    auto t = calls<pool>(env, borrowed(threads), []() -> int { throw std::runtime_error("no such file"); });
    EXPECT_THROW((void)t.get(), std::runtime_error);
    auto v = calls<pool>(env, borrowed(threads), [] { throw std::runtime_error("no such file"); });
    EXPECT_THROW(v.get(), std::runtime_error);
    EXPECT_EQ(calls<pool>(env, borrowed(threads), [] { return 1; }).get(), 1) << "the thread goes on";
}

TEST(blocking_pool, begins_calls_in_the_order_in_which_they_came) {
    const watchdog guard("blocking calls in order");
    pool workers(1);
    blockers threads({.max_threads = 1});
    auto env = coflux::make_environment(workers);
    journal log;
    flag begun;
    flag open;
    std::vector<coflux::task<void, pool>> all;
    all.push_back(calls<pool>(env, borrowed(threads), [] {}));
    all.back().join();
    std::vector<coflux::task<int, pool>> waiting;
    waiting.push_back(calls<pool>(env, borrowed(threads), [&] { return begun.set(), open.wait(), 0; }));
    begun.wait();
    for (std::size_t i = 1; i <= 5; ++i) {
        all.push_back(calls<pool>(env, borrowed(threads), [&log, i] { log.write(std::to_string(i)); }));
        until([&] { return threads.counters().queued == i; });
    }
    open.set();
    for (auto& t : waiting) (void)t.get();
    for (std::size_t i = 1; i < all.size(); ++i) all[i].get();
    EXPECT_EQ(log.lines(), (lines{"1", "2", "3", "4", "5"}));
}

TEST(blocking_pool, has_as_many_threads_as_calls_up_to_its_cap) {
    const watchdog guard("blocking calls beside each other");
    pool workers(2);
    blockers threads({.max_threads = 3});
    EXPECT_EQ(threads.counters().threads, 0U) << "none before the first call";
    auto env = coflux::make_environment(workers);
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    flag open;
    const auto enters = [&] {
        const int now = ++inside;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
        open.wait();
        --inside;
    };
    std::vector<coflux::task<void, pool>> all;
    for (std::size_t i = 1; i <= 3; ++i) {
        all.push_back(calls<pool>(env, borrowed(threads), enters));
        until([&] { return inside == static_cast<int>(i); });
        EXPECT_EQ(threads.counters().threads, i);
    }
    for (std::size_t i = 1; i <= 5; ++i) {
        all.push_back(calls<pool>(env, borrowed(threads), enters));
        until([&] { return threads.counters().queued == i; });
    }
    EXPECT_EQ(threads.counters().threads, 3U);
    EXPECT_EQ(threads.counters().idle, 0U);
    open.set();
    for (auto& t : all) t.get();
    EXPECT_EQ(most, 3);
    EXPECT_EQ(threads.counters().queued, 0U);
}

TEST(blocking_pool, serves_a_loop_of_calls_by_one_thread) {
    const watchdog guard("a loop of blocking calls");
    pool workers(2);
    blockers threads;
    auto env = coflux::make_environment(workers);
    auto t = [](coflux::environment&, borrowed<blockers> to) -> coflux::task<std::size_t, pool> {
        std::set<std::thread::id> ids;
        for (int i = 0; i < 1000; ++i)
            ids.insert(co_await coflux::blocking(*to, [] { return std::this_thread::get_id(); }));
        co_return ids.size();
    }(env, borrowed(threads));
    EXPECT_EQ(t.get(), 1U);
    EXPECT_EQ(threads.counters().threads, 1U);
}

TEST(blocking_pool, takes_the_thread_that_became_idle_last) {
    const watchdog guard("blocking calls");
    pool workers(2);
    blockers threads;
    auto env = coflux::make_environment(workers);
    flag first_goes;
    flag second_goes;
    std::atomic<int> inside{0};
    const auto waits_for = [&inside](flag& f) {
        return [&inside, &f] {
            ++inside;
            f.wait();
            return std::this_thread::get_id();
        };
    };
    auto first = calls<pool>(env, borrowed(threads), waits_for(first_goes));
    auto second = calls<pool>(env, borrowed(threads), waits_for(second_goes));
    until([&] { return inside == 2; });
    first_goes.set();
    const auto earlier = first.get();
    until([&] { return threads.counters().idle == 1; });
    second_goes.set();
    const auto later = second.get();
    until([&] { return threads.counters().idle == 2; });
    EXPECT_NE(earlier, later);
    EXPECT_EQ(calls<pool>(env, borrowed(threads), [] { return std::this_thread::get_id(); }).get(), later);
}

TEST(blocking_pool, lets_idle_threads_go_and_starts_others_when_they_are_needed) {
    const watchdog guard("idle threads that leave");
    pool workers(2);
    for (const auto timeout : {0ns, 100'000ns}) {
        blockers threads({.idle_timeout = timeout});
        auto env = coflux::make_environment(workers);
        for (int round = 0; round < 3; ++round) {
            std::atomic<int> inside{0};
            const auto meets = [&inside] {
                ++inside;
                until([&] { return inside == 2; });
            };
            auto a = calls<pool>(env, borrowed(threads), meets);
            auto b = calls<pool>(env, borrowed(threads), meets);
            a.get();
            b.get();
            until([&] { return threads.counters().threads == 0; });
            EXPECT_EQ(threads.counters().idle, 0U);
        }
    }
}

TEST(blocking_pool, keeps_idle_threads_for_ever_if_told_so) {
    const watchdog guard("a blocking call");
    pool workers(1);
    blockers threads({.idle_timeout = std::chrono::nanoseconds::max()});
    auto env = coflux::make_environment(workers);
    calls<pool>(env, borrowed(threads), [] {}).get();
    until([&] { return threads.counters().idle == 1; });
    EXPECT_EQ(threads.counters().threads, 1U);
}

std::string name_of_thread() {
    char name[16];
    pthread_getname_np(pthread_self(), name, sizeof name);
    return name;
}
TEST(blocking_pool, names_its_threads) {
    const watchdog guard("blocking calls");
    pool workers(1);
    blockers plain;
    blockers named({.name = "disk"});
    auto env = coflux::make_environment(workers);
    EXPECT_EQ(calls<pool>(env, borrowed(plain), name_of_thread).get(), "coflux-blocking");
    EXPECT_EQ(calls<pool>(env, borrowed(named), name_of_thread).get(), "disk");
}

TEST(blocking_pool, refuses_options_that_make_no_sense) {
    EXPECT_THROW(blockers({.max_threads = 0}), std::invalid_argument);
    EXPECT_THROW(blockers({.idle_timeout = -1ns}), std::invalid_argument);
}

TEST(blocking_pool, of_the_process_serves_calls_that_name_none) {
    const watchdog guard("a blocking call");
    pool workers(1);
    auto env = coflux::make_environment(workers);
    auto t = [](coflux::environment&) -> coflux::task<std::string, pool> {
        const std::string abandonable = co_await coflux::blocking(coflux::abandon_on_stop, name_of_thread);
        co_return abandonable + " " + co_await coflux::blocking(name_of_thread);
    }(env);
    EXPECT_EQ(t.get(), "coflux-blocking coflux-blocking");
    EXPECT_GE(blockers::shared().counters().threads, 1U);
}

TEST(blocking_pool, serves_a_coroutine_without_an_executor_which_goes_on_upon_its_threads) {
    const watchdog guard("blocking calls of a coroutine without an executor");
    for (const std::size_t cap : {1U, 2U, 64U}) {
        blockers threads({.max_threads = cap});
        auto env = coflux::make_environment();
        auto t = [](coflux::environment&, borrowed<blockers> to) -> coflux::task<int, noop> {
            int sum = 0;
            for (int i = 0; i < 100; ++i) {
                const auto there = co_await coflux::blocking(*to, [&] { return ++sum, std::this_thread::get_id(); });
                EXPECT_EQ(there, std::this_thread::get_id());
            }
            co_return sum;
        }(env, borrowed(threads));
        EXPECT_EQ(t.get(), 100);
        EXPECT_EQ(threads.counters().threads, 1U) << "it calls, runs the coroutine, and calls again";
    }
}

coflux::fork<void, noop> sets(coflux::environment&, borrowed<blockers> threads, borrowed<flag> f) {
    co_await coflux::blocking(*threads, [&] { f->set(); });
}
coflux::task<void, noop> sets_as_root(coflux::environment&, borrowed<blockers> threads, borrowed<flag> f) {
    co_await coflux::blocking(*threads, [&] { f->set(); });
}
TEST(blocking_pool, does_not_leave_a_call_to_a_thread_that_runs_another_coroutine) {
    const watchdog guard("a call beside a coroutine that keeps the thread");
    blockers threads;
    auto env = coflux::make_environment();
    auto other = coflux::make_environment();
    auto t = [](coflux::environment&, borrowed<blockers> to,
                borrowed<coflux::environment> root) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        co_await coflux::blocking(*to, [] {});
        // From here on upon a thread of the pool, which it keeps by means that no check knows.
        flag by_child;
        auto child = sets(here, to, borrowed(by_child));
        by_child.wait();
        co_await std::move(child);
        flag by_root;
        auto another = sets_as_root(*root, to, borrowed(by_root));
        by_root.wait();
        co_await std::move(another);
    }(env, borrowed(threads), borrowed<coflux::environment>(other));
    t.get();
}

coflux::call<int> calls_below(coflux::environment&, blockers& threads, int depth) {
    auto&& here = co_await coflux::context();
    if (depth == 0) co_return 0;
    const int below = co_await calls_below(here, threads, depth - 1);
    co_return below + co_await coflux::blocking(threads, [] { return 1; });
}
TEST(blocking_pool, serves_nested_calls_without_an_executor_by_one_thread) {
    const watchdog guard("nested calls without an executor");
    blockers threads;
    auto env = coflux::make_environment();
    auto t = [](coflux::environment&, borrowed<blockers> to) -> coflux::task<int, noop> {
        co_return co_await calls_below(co_await coflux::context(), *to, 20);
    }(env, borrowed(threads));
    EXPECT_EQ(t.get(), 20);
    EXPECT_EQ(threads.counters().threads, 1U);
}

coflux::fork<int, noop> child_call(coflux::environment&, borrowed<blockers> threads, int x) {
    co_return co_await coflux::blocking(*threads, [&] { return x; });
}
TEST(blocking_pool, serves_children_without_an_executor_beside_each_other) {
    const watchdog guard("children without an executor");
    blockers threads({.max_threads = 2});
    auto env = coflux::make_environment();
    auto t = [](coflux::environment&, borrowed<blockers> to) -> coflux::task<int, noop> {
        auto&& here = co_await coflux::context();
        int sum = 0;
        for (int i = 0; i < 100; ++i) {
            const auto [a, b, c] =
                co_await coflux::when_all(child_call(here, to, 1), child_call(here, to, 2), child_call(here, to, 3));
            sum += a + b + c;
        }
        co_return sum;
    }(env, borrowed(threads));
    EXPECT_EQ(t.get(), 600);
}

TEST(blocking_pool, serves_a_thousand_calls_at_a_time_by_four_threads) {
    const watchdog guard("a thousand calls");
    pool workers(2);
    blockers threads({.max_threads = 4});
    auto env = coflux::make_environment(workers);
    auto t = [](coflux::environment&, borrowed<blockers> to) -> coflux::task<int, pool> {
        auto&& here = co_await coflux::context();
        std::atomic<int> inside{0};
        std::atomic<int> most{0};
        const auto works = [&] {
            const int now = ++inside;
            for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
            std::this_thread::yield();
            --inside;
            return 1;
        };
        std::vector<coflux::fork<int, pool>> all;
        for (int i = 0; i < 1000; ++i) all.push_back(call_of(here, to, works));
        int sum = 0;
        for (const int one : co_await coflux::when_all(std::move(all))) sum += one;
        EXPECT_LE(most, 4);
        co_return sum;
    }(env, borrowed(threads));
    EXPECT_EQ(t.get(), 1000);
    EXPECT_LE(threads.counters().threads, 4U);
}

coflux::task<int, pool> doubles(coflux::environment&, int x) {
    co_await coflux::yield();
    co_return 2 * x;
}
TEST(blocking_pool, lets_the_function_wait_for_a_task) {
    const watchdog guard("a get() in a blocking call");
    pool workers(1);
    blockers threads;
    auto env = coflux::make_environment(workers);
    EXPECT_EQ(calls<pool>(env, borrowed(threads), [&env] { return doubles(env, 21).get(); }).get(), 42);
    auto no_executor = coflux::make_environment();
    EXPECT_EQ(calls<noop>(no_executor, borrowed(threads), [&env] { return doubles(env, 4).get(); }).get(), 8);
}

TEST(blocking_pool, does_not_share_its_threads_with_another) {
    const watchdog guard("two blocking pools");
    pool workers(1);
    blockers outer({.max_threads = 1});
    blockers inner({.max_threads = 1});
    auto env = coflux::make_environment(workers);
    // The one thread of the first waits for the one thread of the second.
    auto t =
        calls<pool>(env, borrowed(outer), [&] { return calls<pool>(env, borrowed(inner), [] { return 6; }).get(); });
    EXPECT_EQ(t.get(), 6);
    EXPECT_EQ(outer.counters().threads, 1U);
    EXPECT_EQ(inner.counters().threads, 1U);
}

TEST(blocking_pool, serves_combinators) {
    const watchdog guard("combined blocking calls");
    pool workers(2);
    blockers threads({.max_threads = 2});
    auto env = coflux::make_environment(workers);
    auto t = [](coflux::environment&, borrowed<blockers> to) -> coflux::task<int, pool> {
        auto&& here = co_await coflux::context();
        const auto one = [] { return 1; };
        const auto two = [] { return 2; };
        const auto [a, b] = co_await coflux::when_all(coflux::blocking(*to, one), coflux::blocking(*to, two));
        const auto c = co_await coflux::timeout(coflux::blocking(*to, one), 1h);
        auto fails = []() -> int { throw std::runtime_error("no"); };
        const auto d = co_await coflux::as_outcome(coflux::blocking(*to, fails));
        const auto e = co_await coflux::as_outcome(coflux::blocking(*to, two));
        const int f = co_await call_of(here, to, one);
        co_return a + b + c.value() + (d.has_error() ? 10 : 0) + *e + f;
    }(env, borrowed(threads));
    EXPECT_EQ(t.get(), 1 + 2 + 1 + 10 + 2 + 1);
}

#if COFLUX_LATE_RESULTS
TEST(blocking_pool, drops_the_result_of_an_await_that_is_not_resumed_from) {
    const watchdog guard("a blocking call");
    pool workers(1);
    blockers threads;
    auto env = coflux::make_environment(workers);
    journal log;
    auto t = [](coflux::environment&, borrowed<blockers> to, borrowed<journal> in) -> coflux::task<void, pool> {
        const auto makes = [&] { return mortal(*in, "result"); };
        co_await coflux_test::left(coflux::blocking(*to, makes));
    }(env, borrowed(threads), borrowed(log));
    EXPECT_THROW(t.get(), std::runtime_error);
    EXPECT_EQ(log.lines(), lines{"result dies"});
}
#endif

coflux::task<int, coflux::testing::sim_executor> simulated(coflux::environment&, borrowed<blockers> threads) {
    const auto here = std::this_thread::get_id();
    const auto there = co_await coflux::blocking(*threads, [] { return std::this_thread::get_id(); });
    EXPECT_EQ(there, here);
    const int a = co_await coflux::blocking(*threads, coflux::abandon_on_stop, [](int x) { return x; }, 4);
    auto fails = []() -> int { throw std::runtime_error("no"); };
    const auto error = co_await coflux::as_outcome(coflux::blocking(*threads, fails));
    EXPECT_TRUE(error.has_error());
    co_return a;
}
TEST(blocking_pool, calls_at_once_on_the_thread_of_a_simulation) {
    blockers threads;
    coflux::testing::fifo_chooser first;
    coflux::testing::simulation sim(first);
    coflux::testing::sim_executor ex(sim);
    auto env = coflux::make_environment(ex);
    EXPECT_EQ(simulated(env, borrowed(threads)).get(), 4);
    EXPECT_EQ(threads.counters().threads, 0U);
    auto stopped = [](coflux::environment&,
                      borrowed<blockers> to) -> coflux::task<void, coflux::testing::sim_executor> {
        auto&& here = co_await coflux::context();
        co_await coflux::blocking(*to, [&] { here.request_stop(); });
        ADD_FAILURE() << "a stop that came while the function ran is taken after it";
    }(env, borrowed(threads));
    stopped.join();
}

}  // namespace
