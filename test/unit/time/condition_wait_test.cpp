#include <coflux/time/condition_wait.hpp>

#include <chrono>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::environment;
using coflux::mutex;
using coflux::testing::sim_executor;

struct room {
    mutex m;
    coflux::condition_variable changed;
    int items = 0;
};

template <typename F>
void simulated(F body) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation sim(in_order);
    sim_executor executor;
    auto env = coflux::make_environment(executor);
    constexpr auto runs = [](environment&, F f) -> coflux::task<void, sim_executor> {
        auto&& here = co_await coflux::context();
        room r;
        co_await f(here, r);
    };
    runs(env, body).get();
}

coflux::fork<void, sim_executor> puts(environment&, borrowed<room> r, std::chrono::nanoseconds after, int items) {
    co_await coflux::sleep_for(after);
    const mutex::guard guard = co_await r->m.lock();
    r->items += items;
    r->changed.notify_one();
}
coflux::fork<void, sim_executor> holds_the_lock(environment&, borrowed<room> r, std::chrono::nanoseconds from,
                                                std::chrono::nanoseconds time) {
    co_await coflux::sleep_for(from);
    const mutex::guard guard = co_await r->m.lock();
    co_await coflux::sleep_for(time);
}

TEST(condition_wait, ends_with_the_notification_and_has_the_lock) {
    simulated([](environment& here, room& r) -> coflux::call<void> {
        auto maker = puts(here, borrowed(r), 2ms, 1);
        mutex::guard guard = co_await r.m.lock();
        const auto begin = coflux::clock::now();
        const auto notified = co_await r.changed.wait_for(guard, 1h);
        EXPECT_TRUE(notified);
        EXPECT_TRUE(guard.owns_lock_on(r.m));
        EXPECT_EQ(coflux::clock::now() - begin, 2ms);
        guard.unlock();
        co_await std::move(maker);
    });
}

TEST(condition_wait, ends_with_its_time_and_has_the_lock) {
    simulated([](environment&, room& r) -> coflux::call<void> {
        mutex::guard guard = co_await r.m.lock();
        const auto begin = coflux::clock::now();
        const auto notified = co_await r.changed.wait_for(guard, 2ms);
        EXPECT_TRUE(notified.timed_out());
        EXPECT_TRUE(guard.owns_lock_on(r.m));
        EXPECT_EQ(coflux::clock::now() - begin, 2ms);
        const auto until = co_await r.changed.wait_until(guard, coflux::clock::now() + 3ms);
        EXPECT_TRUE(until.timed_out());
        EXPECT_TRUE(guard.owns_lock_on(r.m));
        EXPECT_EQ(coflux::clock::now() - begin, 5ms);
    });
}

TEST(condition_wait, of_a_time_that_has_passed_keeps_the_lock) {
    simulated([](environment&, room& r) -> coflux::call<void> {
        mutex::guard guard = co_await r.m.lock();
        for (const auto time : {0ms, -5ms}) {
            const auto notified = co_await r.changed.wait_for(guard, time);
            EXPECT_TRUE(notified.timed_out());
            EXPECT_TRUE(guard.owns_lock_on(r.m));
        }
    });
}

TEST(condition_wait, waits_for_the_lock_as_long_as_another_has_it) {
    simulated([](environment& here, room& r) -> coflux::call<void> {
        mutex::guard guard = co_await r.m.lock();
        auto other = holds_the_lock(here, borrowed(r), 1ms, 1h);
        const auto begin = coflux::clock::now();
        const auto notified = co_await r.changed.wait_for(guard, 2ms);
        EXPECT_TRUE(notified.timed_out());
        EXPECT_TRUE(guard.owns_lock_on(r.m));
        EXPECT_EQ(coflux::clock::now() - begin, 1h + 1ms);
        guard.unlock();
        co_await std::move(other);
    });
}

TEST(condition_wait, for_a_condition_waits_until_it_is_true_or_the_time_is_up) {
    simulated([](environment& here, room& r) -> coflux::call<void> {
        auto one = puts(here, borrowed(r), 2ms, 1);
        auto more = puts(here, borrowed(r), 4ms, 2);
        mutex::guard guard = co_await r.m.lock();
        const auto begin = coflux::clock::now();
        const auto has = [&r](int n) { return [&r, n] { return r.items >= n; }; };
        const auto three = has(3);
        const auto is_so = co_await r.changed.wait_for(guard, 1h, three);
        EXPECT_TRUE(is_so);
        EXPECT_EQ(r.items, 3);
        EXPECT_EQ(coflux::clock::now() - begin, 4ms);
        const auto four = has(4);
        const auto never = co_await r.changed.wait_until(guard, coflux::clock::now() + 5ms, four);
        EXPECT_TRUE(never.timed_out());
        EXPECT_TRUE(guard.owns_lock_on(r.m));
        EXPECT_EQ(coflux::clock::now() - begin, 9ms);
        guard.unlock();
        co_await coflux::when_all(std::move(one), std::move(more));
    });
}

TEST(condition_wait, for_a_condition_that_is_true_asks_no_clock) {
    simulated([](environment&, room& r) -> coflux::call<void> {
        mutex::guard guard = co_await r.m.lock();
        const auto yes = [] { return true; };
        EXPECT_TRUE(co_await r.changed.wait_for(guard, 0ms, yes));
        EXPECT_TRUE(guard.owns_lock_on(r.m));
    });
}

TEST(condition_wait, for_a_condition_that_comes_true_when_the_time_is_up_is_true) {
    simulated([](environment&, room& r) -> coflux::call<void> {
        mutex::guard guard = co_await r.m.lock();
        const auto end = coflux::clock::now() + 3ms;
        const auto passed = [end] { return coflux::clock::now() >= end; };
        EXPECT_TRUE(co_await r.changed.wait_until(guard, end, passed));
    });
}

TEST(condition_wait, throws_the_error_of_the_condition_with_the_lock) {
    simulated([](environment&, room& r) -> coflux::call<void> {
        mutex::guard guard = co_await r.m.lock();
        int asked = 0;
        const auto fails = [&asked]() -> bool {
            if (++asked == 2) throw std::runtime_error("broken");
            return false;
        };
        bool caught = false;
        try {
            (void)co_await r.changed.wait_for(guard, 1ms, fails);
        } catch (const std::runtime_error&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
        EXPECT_TRUE(guard.owns_lock_on(r.m));
    });
}

coflux::fork<void, sim_executor> waits_for_an_hour(environment&, borrowed<room> r) {
    mutex::guard guard = co_await r->m.lock();
    (void)co_await r->changed.wait_for(guard, 1h);
    ADD_FAILURE() << "goes on";
}

TEST(condition_wait, that_is_stopped_passes_its_notification_and_the_lock_on) {
    simulated([](environment& here, room& r) -> coflux::call<void> {
        auto first = waits_for_an_hour(here, borrowed(r));
        co_await coflux::sleep_for(1ms);
        first.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(first));
        EXPECT_TRUE(end.is_stopped());
        auto maker = puts(here, borrowed(r), 1ms, 1);
        mutex::guard guard = co_await r.m.lock();
        EXPECT_TRUE(co_await r.changed.wait_for(guard, 1h)) << "nothing is lost to the one that was stopped";
        guard.unlock();
        co_await std::move(maker);
    });
}

coflux::fork<void, sim_executor> takes_one(environment&, borrowed<room> r, borrowed<int> late) {
    mutex::guard guard = co_await r->m.lock();
    const auto there = [&r] { return r->items > 0; };
    if (co_await r->changed.wait_for(guard, 1ms, there)) {
        --r->items;
    } else {
        ++*late;
    }
    EXPECT_TRUE(guard.owns_lock_on(r->m));
}
coflux::task<void, sim_executor> five_take_and_three_put(environment&) {
    auto&& here = co_await coflux::context();
    room r;
    int late = 0;
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        for (int i = 0; i != 5; ++i) scope.spawn(takes_one, borrowed(r), borrowed(late));
        for (int i = 0; i != 3; ++i) scope.spawn(puts, borrowed(r), 1ms, 1);
        co_return;
    });
    EXPECT_EQ(r.items, late - 2);
}
/// The notifications and the limits come at one moment: each waiter has an item or is late, and all have had the lock.
TEST(condition_wait, of_many_loses_no_notification_to_a_limit) {
    for (unsigned seed = 0; seed != 50; ++seed) {
        coflux::testing::random_chooser choices(seed);
        coflux::testing::simulation sim(choices);
        sim_executor executor;
        auto env = coflux::make_environment(executor);
        five_take_and_three_put(env).get();
    }
}

}  // namespace
