#include <coflux/sync/condition_variable.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "by_hand.hpp"
#include "support/iterations.hpp"
#include "support/no_hang.hpp"
#include "support/witness.hpp"

namespace {

using coflux::borrowed;
using coflux::condition_variable;
using coflux::mutex;
using coflux_test::by_hand;
using coflux_test::hand;
using coflux_test::journal;
using coflux_test::lines;
using coflux_test::pool;

struct room {
    mutex m;
    condition_variable changed;
    int items = 0;
};

/// Writes down, as it dies, whether its guard owns the lock: what a stopped coroutine leaves behind.
struct tells_of_guard {
    journal* j;
    std::string name;
    const mutex::guard* guard;
    ~tells_of_guard() { j->write(name + (guard->owns_lock() ? " dies with the lock" : " dies without the lock")); }
};

coflux::fork<void, hand> waits(coflux::environment&, borrowed<room> r, journal* j, std::string name) {
    mutex::guard guard = co_await r->m.lock();
    const tells_of_guard teller{j, name, &guard};
    co_await r->changed.wait(guard);
    j->write(name + (guard.owns_lock_on(r->m) ? " has the lock" : " has no lock"));
}

coflux::fork<void, hand> waits_for_an_item(coflux::environment&, borrowed<room> r, journal* j, std::string name) {
    mutex::guard guard = co_await r->m.lock();
    const tells_of_guard teller{j, name, &guard};
    co_await r->changed.wait(guard, [&] { return r->items > 0; });
    --r->items;
    j->write(name + " takes one");
}

struct scene : by_hand {
    room r;
    journal j;
    auto waiter(std::string name) { return waits(env, borrowed(r), &j, std::move(name)); }
    auto taker(std::string name) { return waits_for_an_item(env, borrowed(r), &j, std::move(name)); }
};

TEST(condition_variable, gives_the_lock_up_while_it_waits_and_has_it_after) {
    scene s;
    auto a = s.waiter("a");
    s.drive();
    {
        const mutex::guard held = s.r.m.try_lock();
        EXPECT_TRUE(held);
    }
    s.r.changed.notify_one();
    EXPECT_TRUE(s.j.lines().empty()) << "it is queued, not run";
    EXPECT_FALSE(s.r.m.try_lock()) << "and has the lock already";
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"a has the lock", "a dies with the lock"}));
    EXPECT_TRUE(s.r.m.try_lock());
}

TEST(condition_variable, that_has_no_waiter_remembers_nothing) {
    scene s;
    s.r.changed.notify_one();
    s.r.changed.notify_all();
    auto a = s.waiter("a");
    s.drive();
    EXPECT_TRUE(s.j.lines().empty());
    s.r.changed.notify_all();
    s.drive();
    EXPECT_TRUE(a.done());
}

TEST(condition_variable, moves_whom_it_notifies_to_the_queue_of_the_mutex) {
    scene s;
    auto a = s.waiter("a");
    auto b = s.waiter("b");
    auto c = s.waiter("c");
    s.drive();
    mutex::guard held = s.r.m.try_lock();
    s.r.changed.notify_one();
    s.r.changed.notify_one();
    EXPECT_EQ(s.executor.pending(), 0U) << "no waiter is woken to find the mutex locked";
    held.unlock();
    EXPECT_EQ(s.executor.pending(), 1U);
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"a has the lock", "a dies with the lock", "b has the lock", "b dies with the lock"}));
    EXPECT_FALSE(c.done());
    s.r.changed.notify_one();
    s.drive();
    EXPECT_TRUE(c.done());
}

TEST(condition_variable, notifies_all_one_after_the_other) {
    scene s;
    auto a = s.waiter("a");
    auto b = s.waiter("b");
    s.drive();
    s.r.changed.notify_all();
    EXPECT_EQ(s.executor.pending(), 1U) << "the first has the lock, the second stands in its queue";
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"a has the lock", "a dies with the lock", "b has the lock", "b dies with the lock"}));
}

TEST(condition_variable, hands_the_lock_to_its_waiter_when_a_wait_begins) {
    scene s;
    mutex::guard held = s.r.m.try_lock();
    auto a = s.waiter("a");
    auto b = s.waiter("b");
    s.drive();
    held.unlock();
    s.drive();  // a waits for the condition; so b got the lock, and waits for it too
    EXPECT_TRUE(s.r.m.try_lock());
    s.r.changed.notify_all();
    s.drive();
    EXPECT_TRUE(a.done() && b.done());
}

TEST(condition_variable, with_a_predicate_waits_until_that_is_true) {
    scene s;
    auto a = s.taker("a");
    auto b = s.taker("b");
    s.drive();
    s.r.changed.notify_all();
    s.drive();
    EXPECT_TRUE(s.j.lines().empty());
    s.r.items = 1;
    s.r.changed.notify_all();
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"a takes one", "a dies with the lock"}));
    s.r.items = 1;
    s.r.changed.notify_one();
    s.drive();
    EXPECT_TRUE(b.done());
}

TEST(condition_variable, with_a_predicate_that_is_true_does_not_wait) {
    scene s;
    s.r.items = 1;
    auto a = s.taker("a");
    EXPECT_EQ(s.executor.run_all(), 1U);
    EXPECT_TRUE(a.done());
}

TEST(condition_variable, gives_the_error_of_a_predicate_with_the_lock_held) {
    by_hand s;
    room r;
    const auto root = [](coflux::environment&, borrowed<room> in) -> coflux::task<bool, hand> {
        mutex::guard guard = co_await in->m.lock();
        try {
            co_await in->changed.wait(guard, [&]() -> bool {
                if (in->items == 0) return false;
                throw std::runtime_error("predicate");
            });
        } catch (const std::runtime_error&) {
            co_return guard.owns_lock_on(in->m);
        }
        co_return false;
    };
    auto t = root(s.env, borrowed(r));
    s.drive();
    r.items = 1;
    r.changed.notify_one();
    s.drive();
    EXPECT_TRUE(t.get());
    EXPECT_TRUE(r.m.try_lock());
}

TEST(condition_variable_stop, before_the_wait_leaves_the_lock_with_the_guard) {
    scene s;
    auto a = s.waiter("a");
    a.request_stop();
    s.drive();
    EXPECT_EQ(s.j.lines(), lines{"a dies with the lock"});
    EXPECT_TRUE(s.r.m.try_lock());
}

TEST(condition_variable_stop, while_it_waits_for_the_condition_leaves_the_guard_empty) {
    scene s;
    auto a = s.waiter("a");
    auto b = s.waiter("b");
    s.drive();
    mutex::guard held = s.r.m.try_lock();
    a.request_stop();
    s.drive();
    EXPECT_EQ(s.j.lines(), lines{"a dies without the lock"}) << "and needs no lock to die";
    s.r.changed.notify_one();
    held.unlock();
    s.drive();
    EXPECT_TRUE(b.done());
    EXPECT_TRUE(s.r.m.try_lock());
}

TEST(condition_variable_stop, while_it_waits_for_the_mutex_passes_its_notification_on) {
    scene s;
    auto a = s.waiter("a");
    auto b = s.waiter("b");
    auto c = s.waiter("c");
    s.drive();
    mutex::guard held = s.r.m.try_lock();
    s.r.changed.notify_one();  // a is in the queue of the mutex now
    a.request_stop();
    s.drive();
    EXPECT_EQ(s.j.lines(), lines{"a dies without the lock"});
    held.unlock();
    s.drive();
    EXPECT_TRUE(b.done());
    EXPECT_FALSE(c.done()) << "one notification is for one";
    c.request_stop();
    s.drive();
    EXPECT_TRUE(s.r.m.try_lock());
}

TEST(condition_variable_stop, while_it_waits_for_the_mutex_after_notify_all_has_nothing_to_pass_on) {
    scene s;
    auto a = s.waiter("a");
    s.drive();
    mutex::guard held = s.r.m.try_lock();
    s.r.changed.notify_all();
    auto b = s.waiter("b");
    a.request_stop();
    s.drive();
    held.unlock();
    s.drive();
    EXPECT_TRUE(a.done());
    EXPECT_FALSE(b.done()) << "it came after notify_all()";
    EXPECT_TRUE(s.r.m.try_lock());
    b.request_stop();
    s.drive();
}

TEST(condition_variable_stop, after_it_got_the_lock_takes_nothing_back) {
    scene s;
    auto a = s.waiter("a");
    s.drive();
    s.r.changed.notify_one();
    a.request_stop();
    s.drive();
    EXPECT_EQ(s.j.lines(), (lines{"a has the lock", "a dies with the lock"}));
    EXPECT_TRUE(s.r.m.try_lock());
}

TEST(condition_variable_stop, of_a_wait_with_a_predicate_stops_the_waiter) {
    scene s;
    auto a = s.taker("a");
    s.drive();
    a.request_stop();
    s.drive();
    EXPECT_TRUE(a.done());
    EXPECT_EQ(s.j.lines(), lines{"a dies without the lock"});
}

coflux::fork<void, pool> produces(coflux::environment&, borrowed<room> r, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        mutex::guard guard = co_await r->m.lock();
        co_await r->changed.wait(guard, [&] { return r->items < 3; });
        ++r->items;
        r->changed.notify_all();
    }
}
coflux::fork<std::size_t, pool> consumes(coflux::environment&, borrowed<room> r, std::size_t n) {
    std::size_t got = 0;
    for (; got < n; ++got) {
        mutex::guard guard = co_await r->m.lock();
        while (r->items == 0) co_await r->changed.wait(guard);
        --r->items;
        guard.unlock();
        r->changed.notify_all();
    }
    co_return got;
}

TEST(condition_variable, carries_items_between_two_threads) {
    constexpr std::size_t items = coflux_test::repetitions(80'000);
    pool threads{2};
    auto env = coflux::make_environment(threads);
    const auto root = [](coflux::environment&) -> coflux::task<std::size_t, pool> {
        auto&& here = co_await coflux::context();
        room r;
        auto p1 = produces(here, borrowed(r), items);
        auto p2 = produces(here, borrowed(r), items);
        auto c1 = consumes(here, borrowed(r), items);
        auto c2 = consumes(here, borrowed(r), items);
        auto [a, b, c, d] = co_await coflux::when_all(std::move(p1), std::move(p2), std::move(c1), std::move(c2));
        EXPECT_EQ(r.items, 0);
        co_return c + d;
    };
    EXPECT_EQ(root(env).get(), 2 * items);
}

void dies_with_a_waiter() {
    coflux_test::die_rather_than_hang();
    by_hand s;
    journal j;
    auto r = std::make_unique<room>();
    auto f = waits(s.env, borrowed(*r), &j, "f");
    s.drive();
    r.reset();
}
coflux::fork<void, hand> waits_with(coflux::environment&, borrowed<mutex> m, borrowed<condition_variable> of) {
    mutex::guard guard = co_await m->lock();
    co_await of->wait(guard);
}
void waits_with_two_mutexes() {
    coflux_test::die_rather_than_hang();
    by_hand s;
    condition_variable of;
    mutex first;
    mutex second;
    auto a = waits_with(s.env, borrowed(first), borrowed(of));
    auto b = waits_with(s.env, borrowed(second), borrowed(of));
    s.drive();
}
void waits_without_the_lock() {
    coflux_test::die_rather_than_hang();
    by_hand s;
    condition_variable of;
    auto t = [](coflux::environment&, borrowed<condition_variable> in) -> coflux::task<void, hand> {
        mutex::guard none;
        co_await in->wait(none);
    }(s.env, borrowed(of));
    s.drive();
}

TEST(condition_variable_death, of_one_in_which_a_coroutine_waits_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(dies_with_a_waiter(), "a condition_variable was destroyed while coroutines wait in it");
}
TEST(condition_variable_death, waits_with_two_mutexes_at_a_time_are_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(waits_with_two_mutexes(), "with the locks of two mutexes at a time");
}
TEST(condition_variable_death, a_wait_without_the_lock_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(waits_without_the_lock(), "with a guard that owns no lock");
}

}  // namespace
