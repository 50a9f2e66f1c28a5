#include <coflux/executor/run_loop.hpp>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <support/no_hang.hpp>

#include "loose_coroutine.hpp"
#include "watchdog.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::run_loop;
using coflux_test::loose;
using coflux_test::watchdog;
using pool = coflux::thread_pool_executor;
using order = std::vector<int>;

coflux::task<std::thread::id, run_loop> sleeps(coflux::environment&) {
    co_await coflux::sleep_for(1ms);
    co_return std::this_thread::get_id();
}

TEST(run_loop, runs_a_task_on_the_thread_that_calls_it) {
    run_loop loop;
    auto env = coflux::make_environment(loop);
    EXPECT_EQ(loop.run(sleeps(env)), std::this_thread::get_id());
}

coflux::task<int, run_loop> goes_there_and_back(coflux::environment&, borrowed<run_loop> home,
                                                borrowed<coflux::worker_executor> away) {
    for (int i = 0; i < 100; ++i) {
        co_await coflux::resume_on(*away);
        co_await coflux::resume_on(*home);
    }
    co_return 7;
}

TEST(run_loop, is_woken_by_another_thread) {
    run_loop loop;
    coflux::worker_executor other;
    auto env = coflux::make_environment(loop, other);
    EXPECT_EQ(loop.run(goes_there_and_back(env, borrowed(loop), borrowed(other))), 7);
}

// --- what each member runs -------------------------------------------------------------------------------------------

TEST(run_loop, runs_nothing_between_two_calls) {
    run_loop loop;
    bool ran = false;
    loop.execute(loose([&] { ran = true; }));
    EXPECT_FALSE(ran);
    EXPECT_EQ(loop.poll(), 1U);
    EXPECT_TRUE(ran);
    EXPECT_EQ(loop.poll(), 0U);
}

TEST(run_loop, resumes_one_at_a_time_if_it_is_asked_to) {
    run_loop loop;
    order seen;
    for (int i = 0; i < 3; ++i) loop.execute(loose([&seen, i] { seen.push_back(i); }));
    EXPECT_EQ(loop.poll_one(), 1U);
    EXPECT_EQ(seen, (order{0}));
    EXPECT_EQ(loop.run_one(), 1U);
    EXPECT_EQ(seen, (order{0, 1}));
    EXPECT_EQ(loop.poll_one(), 1U);
    EXPECT_EQ(loop.poll_one(), 0U);
    EXPECT_EQ(seen, (order{0, 1, 2}));
}

TEST(run_loop, runs_what_is_posted_in_the_order_of_the_posts) {
    run_loop loop;
    order seen;
    for (int i = 0; i < 1000; ++i) loop.execute(loose([&seen, i] { seen.push_back(i); }));
    while (loop.poll() != 0) {}
    ASSERT_EQ(seen.size(), 1000U);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
}

coflux::task<void, run_loop> yields(coflux::environment&, int times) {
    for (int i = 0; i < times; ++i) co_await coflux::yield();
}

TEST(run_loop, counts_each_resumption) {
    run_loop loop;
    auto env = coflux::make_environment(loop);
    auto one = yields(env, 10);
    auto another = yields(env, 10);
    std::size_t resumed = 0;
    while (!one.done() || !another.done()) resumed += loop.poll();
    EXPECT_EQ(resumed, 22U);
    one.get();
    another.get();
}

TEST(run_loop, returns_from_run_for_when_the_time_is_over) {
    run_loop loop;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(loop.run_for(2ms), 0U);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 2ms);
    EXPECT_EQ(loop.run_for(-1ms), 0U);
    EXPECT_EQ(loop.run_until(std::chrono::steady_clock::time_point::min()), 0U);
}

TEST(run_loop, takes_the_longest_time_for_no_limit) {
    const watchdog guard("run_for() without a limit");
    run_loop loop;
    loop.stop();
    EXPECT_EQ(loop.run_for(std::chrono::nanoseconds::max()), 0U);
    loop.execute(loose([&] { loop.stop(); }));
    EXPECT_EQ(loop.run_for(std::chrono::nanoseconds::max()), 1U);
    loop.execute(loose([&] { loop.stop(); }));
    EXPECT_EQ(loop.run_until(std::chrono::steady_clock::time_point::max()), 1U);
}

coflux::fork<void, run_loop> nothing(coflux::environment&) {
    co_return;
}
/// Forks and awaits until it is told to end: its forks run in its awaits.
coflux::task<void, run_loop> forks_and_awaits(coflux::environment&, borrowed<std::atomic<bool>> ends) {
    auto&& here = co_await coflux::context();
    while (!*ends) co_await nothing(here);
}

TEST(run_loop, returns_from_poll_beside_one_that_forks_and_awaits_for_ever) {
    const watchdog guard("poll() beside one that forks and awaits for ever");
    run_loop loop;
    auto env = coflux::make_environment(loop);
    std::atomic<bool> ends{false};
    auto task = forks_and_awaits(env, borrowed(ends));
    EXPECT_GE(loop.poll(), 1U);
    EXPECT_GE(loop.run_for(1ms), 1U);
    EXPECT_EQ(loop.run_one(), 1U);
    EXPECT_EQ(loop.poll_one(), 1U);
    EXPECT_FALSE(task.done());
    std::thread stopper([&] { loop.stop(); });
    (void)loop.run();
    stopper.join();
    ends = true;
    loop.run(std::move(task));
}

coflux::task<void, run_loop> yields_until(coflux::environment&, borrowed<std::atomic<bool>> ends) {
    while (!*ends) co_await coflux::yield();
}

TEST(run_loop, returns_from_poll_beside_one_that_yields_for_ever) {
    const watchdog guard("poll() beside one that yields for ever");
    run_loop loop;
    auto env = coflux::make_environment(loop);
    std::atomic<bool> ends{false};
    auto task = yields_until(env, borrowed(ends));
    EXPECT_GE(loop.poll(), 1U);
    EXPECT_EQ(loop.poll_one(), 1U);
    std::thread stopper([&] { loop.stop(); });
    (void)loop.run();
    stopper.join();
    ends = true;
    loop.run(std::move(task));
}

// --- stop ------------------------------------------------------------------------------------------------------------

TEST(run_loop, returns_at_once_after_a_stop_that_came_before) {
    run_loop loop;
    bool ran = false;
    loop.execute(loose([&] { ran = true; }));
    loop.stop();
    EXPECT_EQ(loop.run(), 0U);
    EXPECT_FALSE(ran);
    EXPECT_EQ(loop.poll(), 1U);  // the stop was for one call
}

TEST(run_loop, goes_to_the_caller_after_the_coroutine_that_stops_it) {
    run_loop loop;
    order seen;
    loop.execute(loose([&] { seen.push_back(1); }));
    loop.execute(loose([&] {
        seen.push_back(2);
        loop.stop();
    }));
    loop.execute(loose([&] { seen.push_back(3); }));
    EXPECT_EQ(loop.run(), 2U);
    EXPECT_EQ(seen, (order{1, 2}));
    EXPECT_EQ(loop.poll(), 1U);
}

TEST(run_loop, is_stopped_by_other_threads_at_any_time) {
    const watchdog guard("stops from other threads");
    run_loop loop;
    for (int i = 0; i < 1000; ++i) {
        std::thread stopper([&] { loop.stop(); });
        EXPECT_EQ(loop.run(), 0U);
        stopper.join();
    }
}

TEST(run_loop, may_end_while_the_call_that_stopped_it_returns) {
    const watchdog guard("the end of a loop that was stopped");
    pool threads(1);
    for (int i = 0; i < 2000; ++i) {
        run_loop loop;
        threads.execute(loose([&loop] { loop.stop(); }));
        (void)loop.run();
    }
}

// --- a task ----------------------------------------------------------------------------------------------------------

coflux::task<int, run_loop> fails_on_it(coflux::environment&) {
    co_await coflux::yield();
    throw std::runtime_error("no");
}
coflux::task<int, run_loop> stops_on_it(coflux::environment&) {
    co_await coflux::this_coroutine::stop();
    co_return 1;
}

TEST(run_loop, gives_the_error_of_a_task_and_says_that_it_was_stopped) {
    run_loop loop;
    auto env = coflux::make_environment(loop);
    EXPECT_THROW((void)loop.run(fails_on_it(env)), std::runtime_error);
    EXPECT_THROW((void)loop.run(stops_on_it(env)), coflux::task_stopped);
    loop.run(yields(env, 3));
}

coflux::fork<void, pool> lingers(coflux::environment&) {
    co_await coflux::sleep_for(1ms);
}
coflux::task<int, run_loop> leaves_children(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 3; ++i) lingers(here).attach();
    co_return 5;
}

TEST(run_loop, waits_for_the_children_that_a_task_leaves_on_another_executor) {
    const watchdog guard("a task whose last child ends on a pool");
    pool threads(2);
    for (int i = 0; i < 50; ++i) {
        run_loop loop;
        auto env = coflux::make_environment(loop, threads);
        EXPECT_EQ(loop.run(leaves_children(env)), 5);
    }
}

coflux::task<int, pool> elsewhere(coflux::environment&) {
    co_await coflux::yield();
    co_return 3;
}

TEST(run_loop, runs_until_a_task_of_another_executor_has_ended) {
    const watchdog guard("a task of a pool");
    pool threads(1);
    for (int i = 0; i < 500; ++i) {
        run_loop loop;
        auto env = coflux::make_environment(loop, threads);
        EXPECT_EQ(loop.run(elsewhere(env)), 3);
    }
}

TEST(run_loop, leaves_nothing_of_a_task_behind_whenever_it_ends) {
    for (int times = 0; times < 200; ++times) {
        run_loop loop;
        auto env = coflux::make_environment(loop);
        loop.run(yields(env, times));
    }
}

TEST(run_loop, runs_a_task_that_has_ended) {
    run_loop loop;
    auto env = coflux::make_environment(loop);
    auto task = yields(env, 0);
    EXPECT_EQ(loop.poll(), 1U);
    loop.run(std::move(task));
}

TEST(run_loop, keeps_a_stop_that_came_while_it_ran_a_task) {
    run_loop loop;
    auto env = coflux::make_environment(loop);
    loop.stop();
    loop.run(yields(env, 3));
    EXPECT_EQ(loop.run(), 0U);
}

// --- timers ----------------------------------------------------------------------------------------------------------

TEST(run_loop, says_when_it_wants_to_run) {
    using time_point = std::chrono::steady_clock::time_point;
    run_loop loop;
    auto env = coflux::make_environment(loop);
    EXPECT_EQ(loop.next_deadline(), std::nullopt);
    auto task = sleeps(env);
    EXPECT_EQ(loop.next_deadline(), time_point::min());
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(loop.poll(), 1U);
    const auto next = loop.next_deadline();
    ASSERT_TRUE(next.has_value());
    EXPECT_GT(*next, before);
    EXPECT_LE(*next, std::chrono::steady_clock::now() + 1ms);
    (void)loop.run(std::move(task));
    EXPECT_EQ(loop.next_deadline(), std::nullopt);
}

// --- checked errors --------------------------------------------------------------------------------------------------

/// Threads of earlier tests may be there: a child that runs from the beginning has none of them.
class run_loop_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
    void TearDown() override { GTEST_FLAG_SET(death_test_style, "fast"); }
};

coflux::task<void, run_loop> runs_its_own(coflux::environment&, borrowed<run_loop> loop) {
    (void)loop->poll();
    co_return;
}
coflux::task<void, run_loop> blocks(coflux::environment&, borrowed<coflux::task<int, pool>> other) {
    (void)co_await coflux::context();
    (void)other->get();
}

TEST_F(run_loop_death, dies_of_a_run_inside_a_coroutine) {
    const auto nested = [] {
        coflux_test::die_rather_than_hang();
        run_loop loop;
        auto env = coflux::make_environment(loop);
        loop.run(runs_its_own(env, borrowed(loop)));
    };
    EXPECT_DEATH(nested(), "a run_loop is run on a thread that runs coroutines: co_await what it would wait for");
}

coflux::task<void, pool> runs_another(coflux::environment&) {
    run_loop loop;
    (void)loop.poll();
    co_return;
}

TEST_F(run_loop_death, dies_of_a_run_on_a_thread_of_a_pool) {
    const auto nested = [] {
        coflux_test::die_rather_than_hang();
        pool threads(1);
        auto env = coflux::make_environment(threads);
        runs_another(env).get();
    };
    EXPECT_DEATH(nested(), "a run_loop is run on a thread that runs coroutines: co_await what it would wait for");
}

TEST_F(run_loop_death, dies_of_two_threads_that_run_it) {
    const auto twice = [] {
        coflux_test::die_rather_than_hang();
        run_loop loop;
        std::atomic<bool> runs{false};
        loop.execute(loose([&] {
            runs = true;
            runs.notify_one();
            for (;;) std::this_thread::yield();
        }));
        std::thread other([&] { (void)loop.run(); });
        runs.wait(false);
        (void)loop.poll();
    };
    EXPECT_DEATH(twice(), "a run_loop is run by two threads at the same time");
}

TEST_F(run_loop_death, dies_of_a_blocking_wait_in_one_of_its_coroutines) {
    const auto waits = [] {
        coflux_test::die_rather_than_hang();
        run_loop loop;
        pool threads(1);
        auto env = coflux::make_environment(loop, threads);
        coflux::manual_reset_event never;
        const auto until = [](coflux::environment&, borrowed<coflux::manual_reset_event> e) -> coflux::task<int, pool> {
            co_await e->wait();
            co_return 1;
        };
        auto other = until(env, borrowed(never));
        loop.run(blocks(env, borrowed(other)));
    };
    EXPECT_DEATH(waits(), "a blocking wait for .* on a thread that runs coroutines, in .*blocks.*: co_await the task");
}

TEST_F(run_loop_death, dies_with_a_coroutine_queued_on_it) {
    const auto leaves = [] {
        coflux_test::die_rather_than_hang();
        run_loop loop;
        loop.execute(loose([] {}));
    };
    EXPECT_DEATH(leaves(), "a run_loop ends with a coroutine queued on it: it outlives what runs in the environments");
}

TEST_F(run_loop_death, dies_with_a_coroutine_asleep_on_it_and_names_it) {
    const auto leaves = [] {
        coflux_test::die_rather_than_hang();
        std::optional<run_loop> loop(std::in_place);
        auto env = coflux::make_environment(*loop);
        const auto sleeper = [](coflux::environment&) -> coflux::task<void, run_loop> {
            co_await coflux::sleep_for(1h);
        };
        auto task = sleeper(env);
        (void)loop->poll();
        loop.reset();
    };
    EXPECT_DEATH(leaves(), "a run_loop ends with 1 coroutine on it \\(listed above\\), first .*run_loop_test.cpp:");
}

TEST_F(run_loop_death, names_a_coroutine_that_would_go_on_upon_one_that_is_gone) {
    const auto comes_late = [] {
        coflux_test::die_rather_than_hang();
        std::optional<run_loop> loop(std::in_place);
        auto env = coflux::make_environment(*loop);
        coflux::manual_reset_event set;
        const auto waiter = [](coflux::environment&,
                               borrowed<coflux::manual_reset_event> e) -> coflux::task<void, run_loop> {
            co_await e->wait();
        };
        auto task = waiter(env, borrowed(set));
        (void)loop->poll();
        loop.reset();
        set.set();
    };
    EXPECT_DEATH(comes_late(), "run_loop_test.cpp:[0-9]* would go on upon a run_loop that is gone");
}

}  // namespace
