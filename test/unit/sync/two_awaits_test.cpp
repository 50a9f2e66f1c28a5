// Several awaits in one expression. Where results are taken late (COFLUX_LATE_RESULTS), all are completed before the
// first result that is no object of a class is taken; if that throws, or if a later one is stopped, the other awaits
// are never resumed from. Things that they were granted go back.
#include <coflux/sync/mutex.hpp>

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "by_hand.hpp"
#include "support/left_await.hpp"

namespace {

using coflux::borrowed;
using coflux_test::by_hand;
using coflux_test::hand;

using fork_of_int = coflux::fork<int, hand>;
using root = coflux::task<void, hand>;

fork_of_int fails(coflux::environment&) {
    co_await coflux::yield();
    throw std::runtime_error("first");
}

coflux::fork<void, hand> sets(coflux::environment&, borrowed<coflux::auto_reset_event> event) {
    co_await coflux::yield();
    event->set();
}

int takes(const coflux::mutex::guard&) {
    return 1;
}
int takes(const coflux::shared_mutex::guard&) {
    return 1;
}
int takes(const coflux::shared_mutex::shared_guard&) {
    return 1;
}
int takes(const coflux::semaphore::permit& p) {
    return static_cast<int>(p.count());
}
int takes(const coflux::outcome<coflux::mutex::guard>& o) {
    return o.has_value() ? 1 : 0;
}

/// The object that the second operand waits for, and a third party's act with it.
struct subjects {
    coflux::mutex mutex;
    coflux::shared_mutex shared;
    coflux::semaphore semaphore{5};
    coflux::auto_reset_event event{true};
    coflux::manual_reset_event opened{true};
    coflux::latch latch{1};
};

/// How the second is awaited.
enum class how { beside_a_failure, left };
#if COFLUX_LATE_RESULTS
constexpr how all_ways[] = {how::beside_a_failure, how::left};
#else
constexpr how all_ways[] = {how::beside_a_failure};
#endif

enum class second { lock, lock_as_outcome, write, read, permits, guard, event, manual, latched };
constexpr second all_seconds[] = {second::lock,  second::lock_as_outcome, second::write,
                                  second::read,  second::permits,         second::guard,
                                  second::event, second::manual,          second::latched};

coflux::call<int> adds(coflux::environment&, second what, subjects& s) {
    auto&& here = co_await coflux::context();
    auto first = fails(here);
    switch (what) {
    case second::lock: co_return co_await std::move(first) << takes(co_await s.mutex.lock());
    case second::lock_as_outcome:
        co_return co_await std::move(first) << takes(co_await coflux::as_outcome(s.mutex.lock()));
    case second::write: co_return co_await std::move(first) << takes(co_await s.shared.lock());
    case second::read: co_return co_await std::move(first) << takes(co_await s.shared.lock_shared());
    case second::permits: co_return co_await std::move(first) << (co_await s.semaphore.acquire(4), 1);
    case second::guard: co_return co_await std::move(first) << takes(co_await s.semaphore.acquire_guard(4));
    case second::event: co_return co_await std::move(first) << (co_await s.event.wait(), 1);
    case second::manual: co_return co_await std::move(first) << (co_await s.opened.wait(), 1);
    case second::latched: co_return co_await std::move(first) << (co_await s.latch.wait(), 1);
    }
    co_return 0;
}

coflux::call<void> leaves(coflux::environment&, second what, subjects& s) {
    using coflux_test::left;
    switch (what) {
    case second::lock: co_return co_await left(s.mutex.lock());
    case second::lock_as_outcome: co_return co_await left(coflux::as_outcome(s.mutex.lock()));
    case second::write: co_return co_await left(s.shared.lock());
    case second::read: co_return co_await left(s.shared.lock_shared());
    case second::permits: co_return co_await left(s.semaphore.acquire(4));
    case second::guard: co_return co_await left(s.semaphore.acquire_guard(4));
    case second::event: co_return co_await left(s.event.wait());
    case second::manual: co_return co_await left(s.opened.wait());
    case second::latched: co_return co_await left(s.latch.wait());
    }
}

/// True if all is as if no coroutine had ever come.
bool is_free(subjects& s) {
    return s.mutex.try_lock() && s.shared.try_lock() && s.semaphore.available() == 5 && s.event.try_wait();
}

root adds_and_waits_again(coflux::environment&, how way, second what, borrowed<subjects> s, std::string* error) {
    auto&& here = co_await coflux::context();
    try {
        if (way == how::left) {
            co_await leaves(here, what, *s);
        } else {
            (void)co_await adds(here, what, *s);
        }
    } catch (const std::runtime_error& e) {
        *error = e.what();
    }
    // The record of what waits here is used again.
    coflux::auto_reset_event again;
    auto later = sets(here, borrowed(again));
    co_await again.wait();
    co_await std::move(later);
}

TEST(two_awaits, of_which_the_first_fails_give_back_what_was_ready_for_the_second) {
    for (const how way : all_ways) {
        for (const second what : all_seconds) {
            SCOPED_TRACE(::testing::Message() << static_cast<int>(way) << " " << static_cast<int>(what));
            by_hand h;
            subjects s;
            s.latch.count_down();
            std::string error;
            auto t = adds_and_waits_again(h.env, way, what, borrowed(s), &error);
            h.drive();
            t.get();
            EXPECT_EQ(error, way == how::left ? "left" : "first");
            EXPECT_TRUE(is_free(s));
        }
    }
}

/// Holds everything until the second operand waits for it.
root lets_go_later(coflux::environment&, borrowed<subjects> s) {
    auto lock = s->mutex.try_lock();
    auto write = s->shared.try_lock();
    auto permits = s->semaphore.try_acquire_guard(3);
    s->opened.reset();
    s->event.reset();
    for (int i = 0; i < 5; ++i) co_await coflux::yield();
    lock.unlock();
    write.unlock();
    permits.release();
    s->event.set();
    s->opened.set();
    s->latch.count_down();
}

TEST(two_awaits, of_which_the_first_fails_give_back_what_the_second_was_handed) {
    for (const how way : all_ways) {
        for (const second what : all_seconds) {
            SCOPED_TRACE(::testing::Message() << static_cast<int>(way) << " " << static_cast<int>(what));
            by_hand h;
            subjects s;
            std::string error;
            auto holder = lets_go_later(h.env, borrowed(s));
            auto t = adds_and_waits_again(h.env, way, what, borrowed(s), &error);
            h.drive();
            t.get();
            holder.get();
            EXPECT_EQ(error, way == how::left ? "left" : "first");
            EXPECT_TRUE(is_free(s));
        }
    }
}

coflux::task<int, hand> adds_stop(coflux::environment&, second what, borrowed<subjects> s,
                                  borrowed<coflux::latch> never) {
    switch (what) {
    case second::lock: co_return takes(co_await s->mutex.lock()) << (co_await never->wait(), 1);
    case second::lock_as_outcome:
        co_return takes(co_await coflux::as_outcome(s->mutex.lock())) << (co_await never->wait(), 1);
    case second::write: co_return takes(co_await s->shared.lock()) << (co_await never->wait(), 1);
    case second::read: co_return takes(co_await s->shared.lock_shared()) << (co_await never->wait(), 1);
    case second::guard: co_return takes(co_await s->semaphore.acquire_guard(4)) << (co_await never->wait(), 1);
    case second::permits: co_return (co_await s->semaphore.acquire(4), 1) << (co_await never->wait(), 1);
    case second::event: co_return (co_await s->event.wait(), 1) << (co_await never->wait(), 1);
    default: co_return 0;
    }
}

// The coroutine releases what has no guard once it has resumed from the first.
#if COFLUX_LATE_RESULTS
constexpr second kept_seconds[] = {second::lock,  second::lock_as_outcome, second::write, second::read,
                                   second::guard, second::permits,         second::event};
#else
constexpr second kept_seconds[] = {second::lock, second::lock_as_outcome, second::write, second::read, second::guard};
#endif

TEST(two_awaits, of_which_the_second_is_stopped_give_back_what_the_first_has) {
    for (const bool waits : {false, true}) {
        for (const second what : kept_seconds) {
            SCOPED_TRACE(::testing::Message() << static_cast<int>(what) << (waits ? " waits" : " is ready"));
            by_hand h;
            subjects s;
            coflux::latch never{1};
            auto t = [&] {
                if (!waits) return adds_stop(h.env, what, borrowed(s), borrowed(never));
                auto holder = lets_go_later(h.env, borrowed(s));
                auto waiting = adds_stop(h.env, what, borrowed(s), borrowed(never));
                h.drive();
                holder.get();
                return waiting;
            }();
            h.drive();
            EXPECT_FALSE(t.done());
            t.request_stop();
            h.drive();
            EXPECT_THROW((void)t.get(), coflux::task_stopped);
            EXPECT_TRUE(is_free(s));
        }
    }
}

TEST(two_awaits, of_which_the_second_is_stopped_while_it_waits_have_nothing_to_give_back) {
    for (const how way : all_ways) {
        for (const second what : all_seconds) {
            SCOPED_TRACE(::testing::Message() << static_cast<int>(way) << " " << static_cast<int>(what));
            by_hand h;
            subjects s;
            std::string error;
            auto lock = s.mutex.try_lock();
            auto write = s.shared.try_lock();
            auto permits = s.semaphore.try_acquire_guard(3);
            s.opened.reset();
            s.event.reset();
            auto t = adds_and_waits_again(h.env, way, what, borrowed(s), &error);
            h.drive();
            t.request_stop();
            h.drive();
            EXPECT_FALSE(s.mutex.try_lock());
            EXPECT_FALSE(s.shared.try_lock_shared());
            EXPECT_EQ(s.semaphore.available(), 2U);
            EXPECT_FALSE(s.event.try_wait());
            lock.unlock();
            write.unlock();
            permits.release();
            s.event.set();
            EXPECT_TRUE(is_free(s));
        }
    }
}

coflux::task<int, hand> adds_all(coflux::environment&, borrowed<subjects> s) {
    co_return takes(co_await s->mutex.lock()) + takes(co_await s->shared.lock()) +
        takes(co_await s->semaphore.acquire_guard(4)) + (co_await s->event.wait(), 1);
}

TEST(two_awaits, that_all_succeed_give_back_nothing_twice) {
    by_hand h;
    for (const bool waits : {false, true}) {
        subjects s;
        if (waits) {
            auto holder = lets_go_later(h.env, borrowed(s));
            auto t = adds_all(h.env, borrowed(s));
            h.drive();
            holder.get();
            EXPECT_EQ(t.get(), 7);
        } else {
            auto t = adds_all(h.env, borrowed(s));
            h.drive();
            EXPECT_EQ(t.get(), 7);
        }
        EXPECT_FALSE(s.event.try_wait());
        s.event.set();
        EXPECT_TRUE(is_free(s));
    }
}

// --- a condition, a barrier

coflux::call<int> adds_notified(coflux::environment&, coflux::condition_variable& c, coflux::mutex::guard& guard) {
    auto&& here = co_await coflux::context();
    auto first = fails(here);
    co_return co_await std::move(first) << (co_await c.wait(guard), 1);
}

root is_notified(coflux::environment&, borrowed<coflux::mutex> m, borrowed<coflux::condition_variable> c,
                 bool* has_lock) {
    auto&& here = co_await coflux::context();
    auto guard = co_await m->lock();
    try {
        (void)co_await adds_notified(here, *c, guard);
    } catch (const std::runtime_error&) {
        *has_lock = guard.owns_lock();
    }
}

TEST(two_awaits, of_which_the_first_fails_leave_the_lock_of_a_notified_one_with_its_guard) {
    by_hand h;
    coflux::mutex m;
    coflux::condition_variable c;
    bool has_lock = false;
    auto t = is_notified(h.env, borrowed(m), borrowed(c), &has_lock);
    h.drive();
    c.notify_one();
    h.drive();
    t.get();
    EXPECT_TRUE(has_lock || !COFLUX_LATE_RESULTS);
    EXPECT_TRUE(m.try_lock());
}

coflux::call<int> adds_arrival(coflux::environment&, coflux::barrier<>& b) {
    auto&& here = co_await coflux::context();
    auto first = fails(here);
    co_return co_await std::move(first) << (co_await b.arrive_and_wait(), 1);
}
root arrives_last(coflux::environment&, borrowed<coflux::barrier<>> b) {
    auto&& here = co_await coflux::context();
    try {
        (void)co_await adds_arrival(here, *b);
    } catch (const std::runtime_error&) {
        EXPECT_EQ(b->expected(), 2U);
    }
    if (!COFLUX_LATE_RESULTS) co_await b->arrive_and_wait();  // it has not begun the second await
}
root arrives_first(coflux::environment&, borrowed<coflux::barrier<>> b) {
    co_await b->arrive_and_wait();
}

TEST(two_awaits, of_which_the_first_fails_end_the_phase_of_a_barrier) {
    by_hand h;
    coflux::barrier<> b{2};
    auto a = arrives_first(h.env, borrowed(b));
    auto t = arrives_last(h.env, borrowed(b));
    h.drive();
    t.get();
    ASSERT_TRUE(a.done());
    a.get();
    EXPECT_EQ(b.expected(), 2U);
}

}  // namespace
