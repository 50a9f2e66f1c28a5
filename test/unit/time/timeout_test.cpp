#include <coflux/time/timeout.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/executors.hpp"
#include "support/foreign_event.hpp"
#include "support/gate.hpp"
#include "support/iterations.hpp"
#include "support/witness.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux_test::flag;
using coflux_test::gate;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::mortal;
using coflux_test::thread_executor;
using clock = std::chrono::steady_clock;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;
using lines = std::vector<std::string>;

template <typename E>
coflux::fork<int, E> gives(auto&&, int value, std::chrono::nanoseconds after) {
    co_await coflux::sleep_for(after);
    co_return value;
}
coflux::call<int> computes(auto&&, int value, std::chrono::nanoseconds after) {
    co_await coflux::sleep_for(after);
    co_return value;
}
template <typename E>
coflux::fork<void, E> never_ends(auto&&, journal* log) {
    const mortal local(*log, "child");
    co_await 10h;
}

/// Runs `body(here)`, a call, as a root on one executor.
template <typename E, typename F>
coflux::task<void, E> root_of(auto&&, F body) {
    auto&& here = co_await coflux::context();
    co_await body(here);
}
template <typename F>
void on_pool(F body, std::size_t workers = 1) {
    pool threads(workers);
    auto env = coflux::make_environment(threads);
    root_of<pool>(env, body).get();
}
template <typename F>
void on_thread(F body) {
    thread_executor thread;
    auto env = coflux::make_environment(thread);
    root_of<thread_executor>(env, body).get();
}

TEST(timeout, gives_the_value_of_what_is_in_time) {
    on_pool([](coflux::environment& here) -> coflux::call<void> {
        {
            const auto got = co_await coflux::timeout(gives<pool>(here, 1, 0ns), 10h);
            EXPECT_EQ(got, std::optional(1));
        }
        {
            const auto got = co_await coflux::timeout(gives<pool>(here, 2, 100us), 10h);
            EXPECT_EQ(got, std::optional(2));
        }
        auto kept = gives<pool>(here, 3, 100us);
        {
            const auto got = co_await coflux::timeout(std::move(kept), 10h);
            EXPECT_EQ(got, std::optional(3));
        }
        {
            const auto got = co_await coflux::timeout(computes(here, 4, 100us), 10h);
            EXPECT_EQ(got, std::optional(4));
        }
        {
            const auto yes = co_await coflux::timeout(coflux::yield(), 10h);
            EXPECT_TRUE(yes);
        }
        {
            const auto yes = co_await coflux::timeout(coflux::sleep_for(1us), 10h);
            EXPECT_TRUE(yes);
        }
        {
            auto viewed = gives<pool>(here, 5, 10us);
            const auto got = co_await coflux::timeout(viewed.view(), 10h);
            EXPECT_EQ(got, std::optional(5));
            co_await std::move(viewed);
        }
    });
}

TEST(timeout, stops_and_joins_what_takes_too_long) {
    journal log;
    on_pool([log = &log](coflux::environment& here) -> coflux::call<void> {
        const auto begin = clock::now();
        const bool in_time = co_await coflux::timeout(never_ends<pool>(here, log), 1ms);
        EXPECT_FALSE(in_time);
        EXPECT_GE(clock::now() - begin, 1ms) << "too early";
        log->write("after");
        {
            const auto got = co_await coflux::timeout(computes(here, 4, 10h), 1ms);
            EXPECT_EQ(got, std::nullopt);
        }
        {
            const auto no = co_await coflux::timeout(coflux::sleep_for(10h), 1ms);
            EXPECT_FALSE(no);
        }
        {
            const auto no = co_await coflux::timeout(10h, 1ms);
            EXPECT_FALSE(no);
        }
    });
    EXPECT_EQ(log.lines(), (lines{"child dies", "after"}));
}

TEST(timeout, works_outside_a_pool_and_without_an_executor) {
    journal log;
    on_thread([log = &log](coflux::environment& here) -> coflux::call<void> {
        {
            const auto no = co_await coflux::timeout(never_ends<thread_executor>(here, log), 1ms);
            EXPECT_FALSE(no);
        }
        {
            const auto got = co_await coflux::timeout(gives<thread_executor>(here, 1, 10us), 10h);
            EXPECT_EQ(got, std::optional(1));
        }
    });
    auto env = coflux::make_environment(noop{});
    root_of<noop>(env, [log = &log](coflux::environment& here) -> coflux::call<void> {
        {
            const auto no = co_await coflux::timeout(never_ends<noop>(here, log), 1ms);
            EXPECT_FALSE(no);
        }
        {
            const auto got = co_await coflux::timeout(gives<noop>(here, 1, 10us), 10h);
            EXPECT_EQ(got, std::optional(1));
        }
    }).get();
    EXPECT_EQ(log.lines(), (lines{"child dies", "child dies"}));
}

TEST(timeout, that_is_not_positive_stops_at_the_first_stop_point) {
    on_pool([](coflux::environment& here) -> coflux::call<void> {
        auto ends = [](auto&&) -> coflux::fork<int, pool> { co_return 1; };
        {
            const auto got = co_await coflux::timeout(ends(here), 0ms);
            EXPECT_EQ(got, std::optional(1));
        }
        {
            const auto got = co_await coflux::timeout(gives<pool>(here, 2, 1ns), 0ms);
            EXPECT_EQ(got, std::nullopt);
        }
        {
            const auto got = co_await coflux::timeout(computes(here, 3, 1ns), -1h);
            EXPECT_EQ(got, std::nullopt);
        }
    });
}

TEST(timeout, keeps_a_value_that_comes_nevertheless) {
    on_pool([](coflux::environment& here) -> coflux::call<void> {
        auto computing = [](auto&&) -> coflux::fork<int, pool> {
            co_await coflux::yield();
            const auto stop = co_await coflux::this_coroutine::stop_token();
            while (!stop.stop_requested()) {}
            co_return 7;
        };
        // On a busy machine time may be up before it computes: longer then.
        std::optional<int> got;
        for (auto limit = 20ms; !got && limit < 10s; limit *= 2) got = co_await coflux::timeout(computing(here), limit);
        EXPECT_EQ(got, std::optional(7));
    });
}

TEST(timeout, throws_the_error_of_the_operation_in_time_or_late) {
    on_pool([](coflux::environment& here) -> coflux::call<void> {
        auto fails = [](auto&&, bool late) -> coflux::fork<int, pool> {
            co_await coflux::yield();
            const auto stop = co_await coflux::this_coroutine::stop_token();
            while (late && !stop.stop_requested()) {}
            throw std::runtime_error("broken");
        };
        for (const bool late : {false, true}) {
            bool caught = false;
            for (auto limit = 20ms; !caught && limit < 10s; limit *= 2) {
                try {
                    (void)co_await coflux::timeout(fails(here, late), limit);
                } catch (const std::runtime_error&) {
                    caught = true;
                }
            }
            EXPECT_TRUE(caught) << late;
        }
    });
}

TEST(timeout, gives_move_only_values_and_references) {
    on_pool([](coflux::environment& here) -> coflux::call<void> {
        auto moves = [](auto&&) -> coflux::fork<coflux_test::move_only, pool> {
            co_await 10us;
            co_return coflux_test::move_only(5);
        };
        const auto moved = co_await coflux::timeout(moves(here), 10h);
        EXPECT_EQ(*moved->value, 5);
        int there = 1;
        auto refers = [](auto&&, borrowed<int> to) -> coflux::fork<int&, pool> {
            co_await 10us;
            co_return *to;
        };
        const auto found = co_await coflux::timeout(refers(here, borrowed(there)), 10h);
        EXPECT_EQ(&*found, &there);
    });
}

TEST(timeout, of_something_that_stops_by_itself_stops_the_awaiting_coroutine) {
    on_pool([](coflux::environment& here) -> coflux::call<void> {
        auto outer = [](auto&&) -> coflux::fork<void, pool> {
            auto&& me = co_await coflux::context();
            auto inner = [](auto&&) -> coflux::fork<void, pool> {
                co_await coflux::yield();
                co_await coflux::this_coroutine::stop();
            };
            (void)co_await coflux::timeout(inner(me), 10h);
            ADD_FAILURE() << "goes on";
        };
        const auto end = co_await coflux::as_outcome(outer(here));
        EXPECT_TRUE(end.is_stopped());
    });
}

TEST(timeout, ends_with_the_awaiting_coroutine_when_that_is_stopped) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    journal log;
    flag begun;
    auto t = [](auto&&, journal* to, flag* when) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        auto child = [](auto&&, journal* log, flag* set) -> coflux::fork<void, pool> {
            const mortal local(*log, "child");
            set->set();
            co_await 10h;
        }(here, to, when);
        (void)co_await coflux::timeout(std::move(child), 5h);
        ADD_FAILURE() << "goes on";
    }(env, &log, &begun);
    begun.wait();
    t.request_stop();
    t.join();
    EXPECT_EQ(log.lines(), lines{"child dies"});
}

TEST(timeout, does_not_wait_when_a_stop_was_requested_before) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto t = [](auto&&) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::timeout(gives<manual_executor>(here, 1, 10h), 5h);
        ADD_FAILURE() << "goes on";
    }(env);
    t.request_stop();
    by_hand.run_all();
    EXPECT_TRUE(t.done());
    t.join();
}

TEST(timeout, waits_for_a_foreign_operation_that_nothing_can_stop) {
    coflux_test::foreign_event event;
    thread_executor thread;
    auto env = coflux::make_environment(thread);
    auto t = [](auto&&, borrowed<coflux_test::foreign_event> e) -> coflux::task<bool, thread_executor> {
        co_return co_await coflux::timeout(*e, 1ms);
    }(env, borrowed(event));
    const auto late = clock::now() + 3ms;
    while (!event.has_waiter() || clock::now() < late) std::this_thread::yield();
    EXPECT_FALSE(t.done());
    event.set();
    EXPECT_TRUE(t.get()) << "it has completed, late or not";
}

TEST(timeout, of_a_view_leaves_the_fork_alone) {
    on_pool([](coflux::environment& here) -> coflux::call<void> {
        gate g;
        auto slow = [](auto&&, borrowed<gate> in) -> coflux::fork<int, pool> {
            co_await in->wait();
            co_return 9;
        }(here, borrowed(g));
        {
            const auto got = co_await coflux::timeout(slow.view(), 100us);
            EXPECT_EQ(got, std::nullopt);
        }
        EXPECT_FALSE(slow.done());
        g.open();
        {
            const auto got = co_await std::move(slow);
            EXPECT_EQ(got, 9);
        }
    });
}

TEST(timeout, of_a_fork_with_views_gives_its_value_to_both) {
    on_pool([](coflux::environment& here) -> coflux::call<void> {
        auto f = gives<pool>(here, 9, 100us);
        const auto view = f.view();
        {
            const auto got = co_await coflux::timeout(std::move(f), 10h);
            EXPECT_EQ(got, std::optional(9));
        }
        {
            const auto got = co_await view;
            EXPECT_EQ(got, 9);
        }
    });
}

TEST(timeout, nests_and_the_nearest_acts) {
    on_pool([](coflux::environment& here) -> coflux::call<void> {
        const auto inner = co_await coflux::timeout(coflux::timeout(computes(here, 1, 10h), 1ms), 5h);
        EXPECT_TRUE(inner.has_value());
        EXPECT_FALSE(inner->has_value());
        const auto outer = co_await coflux::timeout(coflux::timeout(computes(here, 1, 10h), 5h), 1ms);
        EXPECT_FALSE(outer.has_value());
    });
}

TEST(timeout, combines_with_when_all) {
    on_pool([](coflux::environment& here) -> coflux::call<void> {
        auto [a, b] = co_await coflux::when_all(coflux::timeout(computes(here, 1, 10us), 10h),
                                                coflux::timeout(computes(here, 2, 10h), 1ms));
        EXPECT_EQ(a, std::optional(1));
        EXPECT_EQ(b, std::nullopt);
    });
}

TEST(timeout, deadline_is_seen_by_the_operation) {
    on_pool([](coflux::environment& here) -> coflux::call<void> {
        auto sees = [](auto&&) -> coflux::call<std::optional<clock::time_point>> {
            co_return co_await coflux::this_coroutine::deadline();
        };
        const auto near = clock::now() + 1h;
        const auto seen = co_await coflux::deadline(sees(here), near);
        EXPECT_EQ(*seen, std::optional(near));
        {
            const auto got = co_await sees(here);
            EXPECT_EQ(got, std::nullopt) << "only there";
        }
        auto nested = [](auto&& env, auto inner, clock::time_point far) -> coflux::call<void> {
            auto&& me = co_await coflux::context();
            const auto still = co_await coflux::deadline(inner(me), far);
            EXPECT_LT(**still, far) << "the nearest counts";
        };
        {
            const auto yes = co_await coflux::deadline(nested(here, sees, near + 1h), near);
            EXPECT_TRUE(yes);
        }
        {
            const auto no = co_await coflux::deadline(coflux::sleep_for(10h), clock::now() + 1ms);
            EXPECT_FALSE(no);
        }
        {
            const auto got = co_await coflux::deadline(gives<pool>(here, 3, 10us), near);
            EXPECT_EQ(got, std::optional(3));
        }
    });
}

coflux::fork<const void*, pool> entry_of_its_executor(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_return coflux::detail::executor_of(here);
}

// A generator that is read within keeps the entry of the executor that it is read on, and outlives the operation.
TEST(timeout, deadline_leaves_the_executors_to_the_environment_around_it) {
    on_pool([](coflux::environment& here) -> coflux::call<void> {
        auto forks = [](auto&&) -> coflux::call<const void*> {
            auto&& me = co_await coflux::context();
            co_return co_await entry_of_its_executor(me);
        };
        const void* const outside = co_await forks(here);
        const std::optional<const void*> within = co_await coflux::deadline(forks(here), clock::now() + 1h);
        EXPECT_EQ(within, std::optional(outside));
    });
}

TEST(timeout, of_many_that_end_at_about_their_time_ends_for_each_exactly_once) {
    for (const bool many_threads : {false, true}) {
        pool threads(many_threads ? 2 : 1);
        auto env = coflux::make_environment(threads);
        std::atomic<std::size_t> values{0};
        std::atomic<std::size_t> lates{0};
        auto t = [](auto&&, borrowed<std::atomic<std::size_t>> value,
                    borrowed<std::atomic<std::size_t>> late) -> coflux::task<void, pool> {
            auto&& here = co_await coflux::context();
            std::mt19937 random(11);
            for (std::size_t round = 0; round < coflux_test::repetitions(100) + 10; ++round) {
                std::vector<coflux::fork<void, pool>> all;
                for (int i = 0; i < 40; ++i) {
                    auto one = [](auto&&, unsigned works, borrowed<std::atomic<std::size_t>> in,
                                  borrowed<std::atomic<std::size_t>> out) -> coflux::fork<void, pool> {
                        auto&& me = co_await coflux::context();
                        const auto got =
                            co_await coflux::timeout(gives<pool>(me, 1, std::chrono::microseconds(works)), 100us);
                        (got ? *in : *out).fetch_add(1, std::memory_order_relaxed);
                    };
                    all.push_back(one(here, random() % 200, value, late));
                }
                co_await coflux::when_all(std::move(all));
            }
        }(env, borrowed(values), borrowed(lates));
        t.get();
        EXPECT_EQ(values + lates, (coflux_test::repetitions(100) + 10) * 40);
        EXPECT_GT(lates.load(), 0U);
    }
}

coflux::call<int> yields(coflux::environment&, int times) {
    for (int i = 0; i < times; ++i) co_await coflux::yield();
    co_return times;
}
coflux::fork<int, pool> forks_yields(coflux::environment&, int times) {
    for (int i = 0; i < times; ++i) co_await coflux::yield();
    co_return times;
}

TEST(timeout, of_a_limit_that_has_passed_stops_at_the_first_stop_point) {
    on_pool([](coflux::environment& here) -> coflux::call<void> {
        for (const int times : {1, 2, 50}) {
            EXPECT_FALSE((co_await coflux::timeout(yields(here, times), 0ns)).has_value());
            EXPECT_FALSE((co_await coflux::timeout(yields(here, times), -1h)).has_value());
            EXPECT_FALSE((co_await coflux::deadline(yields(here, times), clock::now() - 1h)).has_value());
            auto fork = forks_yields(here, times);
            EXPECT_FALSE((co_await coflux::timeout(std::move(fork), 0ns)).has_value());
        }
        EXPECT_TRUE((co_await coflux::timeout(yields(here, 0), 1h)).has_value());
    });
}

TEST(timeout, of_a_fork_that_has_ended_gives_its_value_whatever_the_limit) {
    on_pool([](coflux::environment& here) -> coflux::call<void> {
        auto fork = forks_yields(here, 1);
        while (!fork.done()) co_await coflux::yield();
        EXPECT_EQ(co_await coflux::timeout(std::move(fork), -1h), 1);
    });
}

/// Where a fork has stopped by itself, and its callback is being called on another worker.
struct in_callback {
    std::atomic<bool> attached{false};
    std::atomic<bool> called{false};
    std::atomic<bool> may_return{false};
};
coflux::fork<int, pool> stops_itself(coflux::environment&, coflux::borrowed<in_callback> at) {
    while (!at->attached.load()) co_await coflux::yield();
    co_await coflux::this_coroutine::stop();
    co_return 1;
}
coflux::fork<void, pool> lets_return(coflux::environment&, coflux::borrowed<in_callback> at) {
    at->may_return.store(true);
    co_return;
}
coflux::call<bool> limits_what_has_stopped(coflux::environment&, in_callback& at) {
    auto&& here = co_await coflux::context();
    auto fork = stops_itself(here, coflux::borrowed(at));
    fork.on_stopped([&at] {
        at.called.store(true);
        while (!at.may_return.load()) coflux::detail::cpu_pause();
    });
    at.attached.store(true);
    while (!at.called.load()) coflux::detail::cpu_pause();
    // The other worker is in the callback, so this one runs it, once the await below has suspended.
    lets_return(here, coflux::borrowed(at)).attach();
    co_return (co_await coflux::timeout(std::move(fork), 0ns)).has_value();
}

TEST(timeout, of_a_fork_that_has_stopped_is_not_late_while_its_callbacks_run) {
    on_pool(
        [](coflux::environment& here) -> coflux::call<void> {
            in_callback at;
            const auto got = co_await coflux::as_outcome(limits_what_has_stopped(here, at));
            EXPECT_TRUE(got.is_stopped());
        },
        2);
}

coflux::call<void> yields_for_ever(coflux::environment&) {
    for (;;) co_await coflux::yield();
}
coflux::task<bool, noop> limits_one_that_never_lets_go(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_return co_await coflux::timeout(yields_for_ever(here), 1ms);
}

TEST(timeout, is_armed_before_what_it_limits_begins) {
    auto env = coflux::make_environment(noop{});
    EXPECT_FALSE(limits_one_that_never_lets_go(env).get());
}

coflux::call<int> spins(coflux::environment&, int turns) {
    std::atomic<int> turn{0};
    while (turn.fetch_add(1, std::memory_order_relaxed) < turns) {}
    co_return 1;
}
coflux::task<std::size_t, noop> limits_what_ends_at_about_its_time(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    std::mt19937 random(7);
    std::size_t given = 0;
    for (std::size_t i = 0; i != rounds; ++i) {
        const int turns = static_cast<int>(random() % 4000);
        given += co_await coflux::timeout(spins(here, turns), 1us * (random() % 20)) ? 1 : 0;
    }
    co_return given;
}

/// The service's thread may be about to act while the operation ends inside the await, and its frame goes.
TEST(timeout, leaves_a_limit_that_acts_while_the_operation_ends_in_the_await_no_frame_to_touch) {
    auto env = coflux::make_environment(noop{});
    const std::size_t rounds = coflux_test::race_rounds / 4;
    const std::size_t given = limits_what_ends_at_about_its_time(env, rounds).get();
    EXPECT_GT(given, 0U);
    EXPECT_LE(given, rounds);
}

}  // namespace
