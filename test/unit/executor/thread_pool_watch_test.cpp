// The timers of a worker that computes: idle workers hand them out, and where there are none, the
// watcher does. A worker computes here until what it waits for has happened elsewhere: a timer that sticks to it hangs
// the test.
#include <coflux/executor/thread_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <support/foreign_event.hpp>
#include <support/witness.hpp>

#include "watchdog.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux_test::flag;
using coflux_test::foreign_event;
using coflux_test::watchdog;
using pool = coflux::thread_pool_executor;

constexpr std::size_t sleepers = 8;

/// Sleepers, each with the thread on which it was suspended, and how many have woken or were stopped.
struct dormitory {
    std::thread::id on[sleepers];
    std::atomic<std::size_t> asleep{0};
    std::atomic<std::size_t> awake{0};

    [[nodiscard]] bool has_one_of_this_thread() const {
        bool found = false;
        for (const std::thread::id id : on) found = found || id == std::this_thread::get_id();
        return found;
    }
    void compute_until_all_are_awake() const {
        while (awake.load(std::memory_order_acquire) != sleepers) {}
    }
};

struct wakes_up {
    dormitory& in;
    ~wakes_up() { in.awake.fetch_add(1, std::memory_order_release); }
};

coflux::fork<void, pool> sleeps(auto&&, borrowed<dormitory> in, std::size_t i, std::chrono::nanoseconds d) {
    in->on[i] = std::this_thread::get_id();
    in->asleep.fetch_add(1, std::memory_order_release);
    const wakes_up w{*in};
    co_await d;
}

/// True if one of the sleepers was suspended on the worker that then computed.
coflux::task<bool, pool> computes_beside_sleepers(auto&&, std::chrono::nanoseconds d) {
    auto&& here = co_await coflux::context();
    dormitory in;
    std::vector<coflux::fork<void, pool>> all;
    for (std::size_t i = 0; i < sleepers; ++i) all.push_back(sleeps(here, borrowed(in), i, d));
    while (in.asleep.load(std::memory_order_acquire) != sleepers) co_await coflux::yield();
    const bool sticks = in.has_one_of_this_thread();
    in.compute_until_all_are_awake();
    co_await coflux::when_all(std::move(all));
    co_return sticks;
}

TEST(thread_pool_watch, wakes_sleepers_whose_worker_computes) {
    const watchdog guard("sleepers of a worker that computes");
    pool p(2);
    auto env = coflux::make_environment(p);
    for (int rounds = 0; rounds < 20;) rounds += computes_beside_sleepers(env, 5ms).get() ? 1 : 0;
}

TEST(thread_pool_watch, wakes_sleepers_whose_worker_computes_while_the_others_sleep) {
    const watchdog guard("sleepers of a worker that computes, beside parked workers");
    pool p({.threads = 2, .spin = 0ns});
    auto env = coflux::make_environment(p);
    for (int rounds = 0; rounds < 20;) rounds += computes_beside_sleepers(env, 5ms).get() ? 1 : 0;
}

coflux::task<void, pool> computes_until_sleepers_are_stopped(auto&&, borrowed<dormitory> in, borrowed<flag> begun) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<void, pool>> all;
    for (std::size_t i = 0; i < sleepers; ++i) all.push_back(sleeps(here, in, i, 10h));
    while (in->asleep.load(std::memory_order_acquire) != sleepers) co_await coflux::yield();
    begun->set();
    in->compute_until_all_are_awake();
    co_await coflux::when_all(std::move(all));
}

TEST(thread_pool_watch, does_not_make_a_stop_of_a_sleeper_wait_for_its_worker) {
    const watchdog guard("a stop of sleepers whose worker computes");
    pool p(2);
    auto env = coflux::make_environment(p);
    for (int i = 0; i < 20; ++i) {
        dormitory in;
        flag begun;
        auto t = computes_until_sleepers_are_stopped(env, borrowed(in), borrowed(begun));
        begun.wait();
        t.request_stop();
        t.join();
    }
}

/// Computes until its stop is requested, and comes to no stop point.
coflux::fork<void, pool> polls(auto&&) {
    const auto stop = co_await coflux::this_coroutine::stop_token();
    while (!stop.stop_requested()) {}
}

TEST(thread_pool_watch, lets_a_limit_act_on_a_child_that_computes_on_the_only_worker) {
    const watchdog guard("timeout() of a child that computes");
    pool p(1);
    auto env = coflux::make_environment(p);
    for (int i = 0; i < 20; ++i) {
        [](auto&&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            auto child = polls(here);
            (void)co_await coflux::timeout(std::move(child), 1ms);
        }(env)
                          .get();
    }
}

TEST(thread_pool_watch, lets_the_deadline_of_an_environment_act_on_what_computes_on_the_only_worker) {
    const watchdog guard("a deadline of a child that computes");
    pool p(1);
    auto env = coflux::make_environment(p);
    for (int i = 0; i < 20; ++i) {
        [](auto&&) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            auto sub = coflux::make_environment(here, coflux::clock::now() + 1ms);
            co_await polls(sub);
            co_await sub.join();
        }(env)
                          .get();
    }
}

/// Waits for ever, unless it is stopped.
coflux::fork<void, pool> waits(auto&&, borrowed<std::atomic<bool>> requested) {
    foreign_event never;
    co_await coflux::on_stop_request(never, [&never, requested]() noexcept {
        requested->store(true, std::memory_order_release);
        never.set();
    });
}

TEST(thread_pool_watch, knows_the_limits_of_a_worker_that_then_takes_work_from_outside) {
    const watchdog guard("a limit beside work from outside");
    pool p({.threads = 1, .spin = 0ns});
    auto env = coflux::make_environment(p);
    for (int i = 0; i < 20; ++i) {
        flag limited;
        std::atomic<bool> requested{false};
        auto waiter = [](auto&&, borrowed<flag> f, borrowed<std::atomic<bool>> t) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            auto child = waits(here, t);
            f->set();
            (void)co_await coflux::timeout(std::move(child), 5ms);
        }(env, borrowed(limited), borrowed(requested));
        limited.wait();
        [](auto&&, borrowed<std::atomic<bool>> t) -> coflux::task<void, pool> {
            while (!t->load(std::memory_order_acquire)) {}
            co_return;
        }(env, borrowed(requested))
                                                         .get();
        waiter.get();
    }
}

}  // namespace
