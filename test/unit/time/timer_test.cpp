#include <coflux/time/timer.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/alloc_guard.hpp>
#include <coflux/testing/inject.hpp>

#include "in_virtual_time.hpp"
#include "support/iterations.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::timer;
using coflux_test::moments;
using coflux_test::pool;
using coflux_test::sim_executor;
using coflux_test::sim_fork;
using coflux_test::sim_task;
using coflux_test::virtual_time;

sim_fork waits(coflux::environment&, borrowed<timer> t, borrowed<virtual_time> v, std::string name) {
    const bool fired = co_await t->wait();
    v->write(name + (fired ? " fires" : " is stopped"));
}

TEST(timer, fires_at_its_moment_for_all_that_wait_in_the_order_in_which_they_came) {
    virtual_time v;
    timer t(7ms);
    [](coflux::environment&, borrowed<timer> t, borrowed<virtual_time> v) -> sim_task {
        auto&& here = co_await coflux::context();
        auto a = waits(here, t, v, "a");
        auto b = waits(here, t, v, "b");
        EXPECT_TRUE(t->pending());
        co_await coflux::when_all(std::move(a), std::move(b));
        EXPECT_FALSE(t->pending());
        EXPECT_TRUE(co_await t->wait()) << "it has fired until it is reset";
    }(v.env, borrowed(t), borrowed(v))
                                                                                 .get();
    EXPECT_EQ(v.log, (moments{{"a fires", 7ms}, {"b fires", 7ms}}));
}

TEST(timer, that_was_never_set_is_stopped) {
    virtual_time v;
    timer t;
    EXPECT_FALSE(t.pending());
    EXPECT_FALSE(t.stop());
    waits(v.env, borrowed(t), borrowed(v), "a").attach();
    v.sim.run();
    EXPECT_EQ(v.log, (moments{{"a is stopped", 0ms}}));
}

TEST(timer, says_of_a_reset_and_of_a_stop_whether_it_was_pending) {
    virtual_time v;
    timer t(virtual_time::begin() + 5ms);
    EXPECT_TRUE(t.reset(10ms));
    EXPECT_TRUE(t.stop());
    EXPECT_FALSE(t.stop());
    EXPECT_FALSE(t.reset(10ms));
    v.sim.advance(10ms);
    EXPECT_FALSE(t.pending()) << "its moment is enough; no coroutine waits";
    EXPECT_FALSE(t.stop());
    EXPECT_FALSE(t.reset(1ms));
    EXPECT_TRUE(t.pending());
}

TEST(timer, that_is_reset_takes_its_waiters_along) {
    virtual_time v;
    timer t(10ms);
    auto a = waits(v.env, borrowed(t), borrowed(v), "a");
    v.sim.advance(8ms);
    EXPECT_TRUE(t.reset(30ms));
    v.sim.advance(20ms);
    EXPECT_TRUE(v.log.empty()) << "the first moment has passed, and is no more";
    EXPECT_TRUE(t.reset(3ms));
    auto b = waits(v.env, borrowed(t), borrowed(v), "b");
    v.sim.run();
    EXPECT_EQ(v.log, (moments{{"a fires", 31ms}, {"b fires", 31ms}}));
    EXPECT_FALSE(t.reset(0ms));
    EXPECT_FALSE(t.pending()) << "it has fired at once";
    EXPECT_FALSE(t.reset(virtual_time::begin()));
    EXPECT_FALSE(t.reset(std::chrono::hours::max()));
    EXPECT_TRUE(t.pending());
}

TEST(timer, that_is_stopped_lets_its_waiters_go) {
    virtual_time v;
    timer t(10ms);
    auto a = waits(v.env, borrowed(t), borrowed(v), "a");
    v.sim.advance(8ms);
    EXPECT_TRUE(t.stop());
    EXPECT_TRUE(v.log.empty()) << "they are queued, not run";
    v.sim.run();
    EXPECT_EQ(v.log, (moments{{"a is stopped", 8ms}}));
}

/// Where a moment has come and its waiters have not been served yet.
TEST(timer, whose_moment_has_come_has_fired_for_those_that_waited_whatever_comes_first) {
    for (const bool reset : {false, true}) {
        virtual_time v;
        timer t(5ms);
        [](coflux::environment&, borrowed<timer> t, borrowed<virtual_time> v, bool reset) -> sim_task {
            auto&& here = co_await coflux::context();
            auto waker = [](coflux::environment&, borrowed<timer> t, bool reset) -> sim_fork {
                co_await coflux::sleep_for(5ms);  // armed first, so it is due first
                EXPECT_FALSE(reset ? t->reset(10ms) : t->stop());
            }(here, t, reset);
            co_await coflux::yield();
            auto a = waits(here, t, v, "a");
            co_await coflux::when_all(std::move(a), std::move(waker));
        }(v.env, borrowed(t), borrowed(v), reset)
                                                                                                 .get();
        EXPECT_EQ(v.log, (moments{{"a fires", 5ms}}));
    }
}

TEST(timer_stop, of_a_waiter_leaves_the_timer_and_the_others) {
    virtual_time v;
    timer t(10ms);
    auto a = waits(v.env, borrowed(t), borrowed(v), "a");
    auto b = waits(v.env, borrowed(t), borrowed(v), "b");
    auto c = waits(v.env, borrowed(t), borrowed(v), "c");
    v.sim.advance(3ms);
    a.request_stop();
    v.sim.advance(3ms);
    EXPECT_TRUE(a.done());
    EXPECT_TRUE(t.pending());
    c.request_stop();
    v.sim.run();
    EXPECT_EQ(v.log, (moments{{"b fires", 10ms}}));
}

TEST(timer_stop, before_the_wait_ends_the_coroutine_unless_the_timer_has_fired) {
    virtual_time v;
    timer t(10ms);
    auto a = waits(v.env, borrowed(t), borrowed(v), "a");
    a.request_stop();
    v.sim.run();
    EXPECT_TRUE(v.log.empty());
    EXPECT_TRUE(a.done());
}

TEST(timer_stop, by_a_limit_is_told_and_loses_nothing) {
    virtual_time v;
    timer t(10ms);
    [](coflux::environment&, borrowed<timer> t) -> sim_task {
        EXPECT_FALSE((co_await coflux::timeout(t->wait(), 3ms)).has_value());
        const auto later = co_await coflux::timeout(t->wait(), 20ms);
        EXPECT_TRUE(!later.timed_out() && *later);
        t->reset(5ms);
        const auto first = co_await coflux::when_any(coflux::sleep_for(3ms), t->wait());
        EXPECT_EQ(first.index(), 0U);
        EXPECT_TRUE(t->pending());
    }(v.env, borrowed(t))
                                                       .get();
    EXPECT_EQ(v.sim.elapsed(), 13ms);
}

/// A coroutine that is fed now and then, and one that ends it when it is not.
sim_fork feeds(coflux::environment&, borrowed<timer> t) {
    for (int i = 0; i != 5; ++i) {
        co_await coflux::sleep_for(1ms);
        t->reset(3ms);
    }
}

TEST(timer_stop, at_every_point_leaves_the_timer_as_it_was_to_be) {
    const std::size_t points = coflux::testing::inject(coflux::testing::steps, [](coflux::testing::injection& run) {
        coflux::testing::fifo_chooser in_order;
        coflux::testing::simulation sim(in_order);
        sim_executor on;
        auto env = coflux::make_environment(run.memory(), on);
        timer t(3ms);
        coflux::task<bool, sim_executor> watch = [](coflux::environment&,
                                                    borrowed<timer> t) -> coflux::task<bool, sim_executor> {
            auto&& here = co_await coflux::context();
            auto fed = feeds(here, t);
            const bool fired = co_await t->wait();
            co_await std::move(fed);
            co_return fired;
        }(env, borrowed(t));
        run.at_step([&] { watch.request_stop(); });
        sim.on_step([&](std::size_t) { run.step(); });
        try {
            EXPECT_TRUE(watch.get());
            EXPECT_EQ(sim.elapsed(), 8ms);
        } catch (...) {
            run.no_action();
            sim.on_step({});
            throw;
        }
        run.no_action();
        sim.on_step({});
    });
    EXPECT_GT(points, 5U);
}

TEST(timer, allocates_nothing) {
    virtual_time v;
    timer t(100h);
    auto a = waits(v.env, borrowed(t), borrowed(v), "a");
    v.sim.advance(1ms);
    {
        const coflux::testing::alloc_guard none;
        for (int i = 1; i != 100; ++i) EXPECT_TRUE(t.reset(i % 2 != 0 ? 100h / i : 100h));
    }
    t.stop();
    v.sim.run();
}

using pool_fork = coflux::fork<void, pool>;

pool_fork waits_often(coflux::environment&, borrowed<timer> t, borrowed<std::atomic<std::size_t>> ends,
                      std::size_t times) {
    for (std::size_t i = 0; i != times; ++i) {
        (void)co_await t->wait();
        ends->fetch_add(1, std::memory_order_relaxed);
        co_await coflux::yield();
    }
}
pool_fork stops_a_waiter(coflux::environment&, borrowed<timer> t, std::size_t times) {
    auto&& here = co_await coflux::context();
    for (std::size_t i = 0; i != times; ++i) {
        auto w = [](coflux::environment&, borrowed<timer> of) -> pool_fork { (void)co_await of->wait(); }(here, t);
        if (i % 2 == 0) co_await coflux::yield();
        w.request_stop();
        (void)co_await coflux::as_outcome(std::move(w));
    }
}

/// Waiters of two executors, resets and stops from threads and workers: each wait ends once. One that was lost would
/// hang.
TEST(timer, of_many_threads_loses_no_waiter) {
    const std::size_t rounds = coflux_test::repetitions(40'000) + 200;
    for (const std::size_t workers : {1U, 3U}) {
        pool first(workers);
        pool second(1);
        timer t;
        std::atomic<std::size_t> ends{0};
        std::atomic<bool> over{false};
        auto env = coflux::make_environment(first);
        auto other = coflux::make_environment(second);
        std::thread outside([&] {
            for (std::size_t i = 0; !over.load(); ++i) {
                if (i % 3 == 0) {
                    t.stop();
                } else {
                    t.reset(std::chrono::microseconds(i % 50));
                }
                std::this_thread::yield();
            }
            t.stop();
        });
        const auto root = [](coflux::environment&, borrowed<timer> of, borrowed<std::atomic<std::size_t>> ends,
                             std::size_t n) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            co_await coflux::when_all(waits_often(here, of, ends, n), waits_often(here, of, ends, n),
                                      stops_a_waiter(here, of, n), stops_a_waiter(here, of, n));
        };
        auto a = root(env, borrowed(t), borrowed(ends), rounds);
        auto b = root(other, borrowed(t), borrowed(ends), rounds);
        a.get();
        b.get();
        over.store(true);
        outside.join();
        EXPECT_EQ(ends.load(), 4 * rounds);
    }
}

TEST(timer_death_test, that_dies_while_a_coroutine_waits_is_a_checked_error) {
    EXPECT_DEATH(
        {
            virtual_time v;
            auto* const t = new timer(1h);
            auto a = waits(v.env, borrowed(*t), borrowed(v), "a");
            v.sim.advance(1ms);
            delete t;
        },
        "a timer was destroyed while coroutines wait for it");
}

}  // namespace
