// After warm-up the operations of the core allocate nothing outside the frame resource (law 5): this program replaces
// the global operator new by one that counts.
#include <coflux/coflux.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ranges>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/testing/alloc_guard.hpp>
#include <coflux/testing/replace_new.hpp>

#include "support/failures.hpp"

namespace {

using coflux::testing::alloc_guard;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;

class global_allocations : public ::testing::Test {
protected:
    void SetUp() override {
        if (!coflux::testing::counts_new()) GTEST_SKIP() << "the sanitizer has its own operator new";
    }
};

constexpr int rounds = 10'000;

/// How many times a run may find memory that its threads' lists lack. A worker that takes part for the first time gets
/// its first blocks; and blocks move from one thread's list to another's, which may keep 512 KiB, eight slabs, of each
/// size: two workers and the thread of the test, four sizes of frame, twice for what else is made once.
constexpr std::size_t found_late = 2UL * 3 * 4 * 8;

/// Runs `body(env)` `rounds` times, all in one coroutine, until operator new was not called meanwhile. Returns how
/// often it was called in the last such phase: not 0 if all phases together called it more often than lists can lack
/// memory. An operation that allocates in each round, or in one of fifty, does so in its first phase.
template <typename E, typename Body>
coflux::task<std::size_t, E> measured(auto&&, Body body) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < rounds; ++i) co_await body(here);
    for (std::size_t all = 0;;) {
        const std::size_t before = coflux::testing::new_calls();
        for (int i = 0; i < rounds; ++i) co_await body(here);
        const std::size_t allocated = coflux::testing::new_calls() - before;
        all += allocated;
        if (allocated == 0 || all > found_late) co_return allocated;
    }
}

coflux::fork<int, noop> noop_fork(coflux::environment&) {
    co_return 1;
}
coflux::fork<int, pool> pool_fork(coflux::environment&) {
    co_return 1;
}
coflux::call<int> plain_call(coflux::environment&) {
    co_return 1;
}

TEST_F(global_allocations, are_counted) {
    const alloc_guard once(1);
    const std::vector<int> block(1000);
    EXPECT_EQ(block.size(), 1000U);
}

TEST_F(global_allocations, that_a_guard_does_not_expect_are_reported) {
    const coflux_test::reported_failures reported;
    {
        const alloc_guard none;
        const std::vector<int> block(1000);
        EXPECT_EQ(block.size(), 1000U);
    }
    ASSERT_EQ(reported.messages().size(), 1U);
    EXPECT_EQ(reported.messages()[0], "operator new was called 1 times here, not 0");
}

TEST_F(global_allocations, of_a_loop_of_noop_forks_are_none) {
    auto env = coflux::make_environment(noop{});
    auto t = measured<noop>(env, [](coflux::environment& here) { return noop_fork(here); });
    EXPECT_EQ(t.get(), 0U);
}

TEST_F(global_allocations, of_calls_are_none) {
    auto env = coflux::make_environment(noop{});
    auto t = measured<noop>(env, [](coflux::environment& here) { return plain_call(here); });
    EXPECT_EQ(t.get(), 0U);
}

class global_allocations_in_a_pool : public global_allocations, public ::testing::WithParamInterface<std::size_t> {
protected:
    template <typename Body>
    std::size_t measure(Body body) {
        pool workers({.threads = GetParam(), .keep_memory = std::chrono::nanoseconds::max()});
        auto env = coflux::make_environment(workers);
        return measured<pool>(env, body).get();
    }
};
INSTANTIATE_TEST_SUITE_P(threads, global_allocations_in_a_pool, ::testing::Values(1U, 2U));

TEST_P(global_allocations_in_a_pool, of_forks_awaited_at_once_are_none) {
    EXPECT_EQ(measure([](coflux::environment& here) { return pool_fork(here); }), 0U);
}

TEST_P(global_allocations_in_a_pool, of_noop_forks_are_none) {
    EXPECT_EQ(measure([](coflux::environment& here) { return noop_fork(here); }), 0U);
}

TEST_P(global_allocations_in_a_pool, of_calls_are_none) {
    EXPECT_EQ(measure([](coflux::environment& here) { return plain_call(here); }), 0U);
}

TEST_P(global_allocations_in_a_pool, of_yields_are_none) {
    EXPECT_EQ(measure([](coflux::environment&) { return coflux::yield(); }), 0U);
}

coflux::call<int> all_of_a_tuple(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto a = pool_fork(here);
    auto b = pool_fork(here);
    auto c = noop_fork(here);
    auto [x, y, z] = co_await coflux::when_all(std::move(a), std::move(b), std::move(c));
    co_return x + y + z;
}

TEST_P(global_allocations_in_a_pool, of_when_all_of_a_tuple_are_none) {
    EXPECT_EQ(measure([](coflux::environment& here) { return all_of_a_tuple(here); }), 0U);
}

coflux::call<int> any_of_a_tuple(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto a = pool_fork(here);
    auto b = pool_fork(here);
    const auto first = co_await coflux::when_any(std::move(a), std::move(b));
    co_return static_cast<int>(first.index());
}

TEST_P(global_allocations_in_a_pool, of_when_any_of_a_tuple_are_none) {
    EXPECT_EQ(measure([](coflux::environment& here) { return any_of_a_tuple(here); }), 0U);
}

coflux::call<int> outcomes_of_a_tuple(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto [a, b] = co_await coflux::when_all_outcomes(pool_fork(here), noop_fork(here));
    co_return static_cast<int>(a.has_value()) + static_cast<int>(b.has_value());
}

TEST_P(global_allocations_in_a_pool, of_when_all_outcomes_of_a_tuple_are_none) {
    EXPECT_EQ(measure([](coflux::environment& here) { return outcomes_of_a_tuple(here); }), 0U);
}

coflux::call<int> filled_scope(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::task_scope scope(here);
    scope.spawn(pool_fork);
    scope.spawn(noop_fork);
    co_await scope.join();
    co_return 0;
}

TEST_P(global_allocations_in_a_pool, of_a_task_scope_are_none) {
    EXPECT_EQ(measure([](coflux::environment& here) { return filled_scope(here); }), 0U);
}

coflux::call<int> loop_with_a_window(coflux::environment&) {
    co_await coflux::for_each_concurrent(std::views::iota(0, 4), 2, [](auto&& env, int) { return pool_fork(env); });
    co_return 0;
}

TEST_P(global_allocations_in_a_pool, of_for_each_concurrent_are_none) {
    EXPECT_EQ(measure([](coflux::environment& here) { return loop_with_a_window(here); }), 0U);
}

using rendezvous = coflux::channel<int[]>;

coflux::fork<int, pool> receives_one(coflux::environment&, coflux::borrowed<rendezvous> from) {
    co_return *co_await from->receive();
}
coflux::call<int> sends_to_a_fork(coflux::environment&) {
    auto&& here = co_await coflux::context();
    rendezvous ch;
    auto f = receives_one(here, coflux::borrowed(ch));
    (void)co_await ch.send(1);
    co_return co_await std::move(f);
}
coflux::fork<void, pool> sends_one(coflux::environment&, coflux::borrowed<rendezvous> to) {
    (void)co_await to->send(1);
}
coflux::call<int> selects_what_a_fork_sends(coflux::environment&) {
    auto&& here = co_await coflux::context();
    rendezvous never;
    rendezvous ch;
    auto f = sends_one(here, coflux::borrowed(ch));
    auto got = co_await coflux::select(never.receive(), ch.receive());
    co_await std::move(f);
    co_return *get<1>(got);
}

TEST_P(global_allocations_in_a_pool, of_a_rendezvous_are_none) {
    EXPECT_EQ(measure([](coflux::environment& here) { return sends_to_a_fork(here); }), 0U);
}

TEST_P(global_allocations_in_a_pool, of_a_select_are_none) {
    EXPECT_EQ(measure([](coflux::environment& here) { return selects_what_a_fork_sends(here); }), 0U);
}

// In a pool of one worker the other waits when the lock is given up; in one of two it may.
coflux::fork<void, pool> locks(coflux::environment&, coflux::borrowed<coflux::mutex> m,
                               coflux::borrowed<coflux::condition_variable> changed) {
    coflux::mutex::guard guard = co_await m->lock();
    changed->notify_one();
}
coflux::call<int> contended_lock(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::mutex m;
    coflux::condition_variable changed;
    coflux::mutex::guard guard = co_await m.lock();
    auto f = locks(here, coflux::borrowed(m), coflux::borrowed(changed));
    co_await coflux::yield();
    co_await changed.wait(guard);
    guard.unlock();
    co_await std::move(f);
    co_return 1;
}

TEST_P(global_allocations_in_a_pool, of_waits_for_a_lock_and_a_condition_are_none) {
    EXPECT_EQ(measure([](coflux::environment& here) { return contended_lock(here); }), 0U);
}

coflux::fork<void, pool> meets(coflux::environment&, coflux::borrowed<coflux::semaphore> s,
                               coflux::borrowed<coflux::auto_reset_event> e, coflux::borrowed<coflux::barrier<>> b) {
    co_await s->acquire(2);
    e->set();
    co_await b->arrive_and_wait();
}
coflux::call<int> meeting(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::semaphore s(0);
    coflux::auto_reset_event e;
    coflux::barrier<> b(2);
    auto f = meets(here, coflux::borrowed(s), coflux::borrowed(e), coflux::borrowed(b));
    co_await coflux::yield();
    s.release(2);
    co_await e.wait();
    co_await b.arrive_and_wait();
    co_await std::move(f);
    co_return 1;
}

TEST_P(global_allocations_in_a_pool, of_waits_for_a_semaphore_an_event_and_a_barrier_are_none) {
    EXPECT_EQ(measure([](coflux::environment& here) { return meeting(here); }), 0U);
}

TEST_P(global_allocations_in_a_pool, of_sleeps_are_none) {
    EXPECT_EQ(measure([](coflux::environment&) { return coflux::sleep_for(std::chrono::nanoseconds(1)); }), 0U);
}

coflux::fork<int, pool> pops_one(coflux::environment&, coflux::borrowed<coflux::delay_queue<int>> q) {
    co_return *co_await q->pop();
}
coflux::call<int> timed(coflux::environment&, coflux::delay_queue<int>& q) {
    using namespace std::chrono_literals;
    auto&& here = co_await coflux::context();
    coflux::timer t(1h);
    auto f = pops_one(here, coflux::borrowed(q));
    co_await coflux::yield();
    t.reset(1ns);
    (void)co_await t.wait();
    coflux::rate_limiter l(1, 1ns, 1);
    co_await l.acquire();
    co_await l.acquire();
    (void)q.push(1, 1ns);
    co_return co_await std::move(f);
}

TEST_P(global_allocations_in_a_pool, of_a_timer_a_rate_limiter_and_a_delay_queue_are_none) {
    coflux::delay_queue<int> q;
    EXPECT_EQ(measure([&q](coflux::environment& here) { return timed(here, q); }), 0U);
}

TEST_P(global_allocations_in_a_pool, of_blocking_calls_are_none) {
    coflux::blocking_pool threads({.idle_timeout = std::chrono::nanoseconds::max()});
    EXPECT_EQ(measure([&threads](coflux::environment&) { return coflux::blocking(threads, [] { return 1; }); }), 0U);
}

coflux::task<std::size_t, pool> fewest_for_abandonable_calls(coflux::environment&, int calls) {
    std::size_t fewest = ~std::size_t{0};
    for (int phase = 0; phase < 10; ++phase) {
        const std::size_t before = coflux::testing::new_calls();
        for (int i = 0; i < calls; ++i)
            (void)co_await coflux::blocking(coflux::abandon_on_stop, [](int x) { return x; }, i);
        fewest = std::min(fewest, coflux::testing::new_calls() - before);
    }
    co_return fewest;
}
TEST_P(global_allocations_in_a_pool, of_a_blocking_call_that_may_be_abandoned_is_one) {
    pool workers({.threads = GetParam(), .keep_memory = std::chrono::nanoseconds::max()});
    auto env = coflux::make_environment(workers);
    EXPECT_EQ(fewest_for_abandonable_calls(env, 100).get(), 100U);
}

coflux::fork<int, pool> naps(coflux::environment&) {
    co_await coflux::sleep_for(std::chrono::nanoseconds(1));
    co_return 1;
}
coflux::call<int> limited(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto in_time = co_await coflux::timeout(naps(here), std::chrono::hours(1));
    co_return in_time.value();
}

TEST_P(global_allocations_in_a_pool, of_timeouts_are_none) {
    EXPECT_EQ(measure([](coflux::environment& here) { return limited(here); }), 0U);
}

}  // namespace
