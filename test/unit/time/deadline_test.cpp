#include <coflux/core/detail/scope/deadline_hook.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/executors.hpp"
#include "support/iterations.hpp"
#include "support/witness.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::mortal;
using coflux_test::thread_executor;
using clock = std::chrono::steady_clock;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;
using lines = std::vector<std::string>;

template <typename E>
coflux::fork<void, E> sleeps(auto&&, journal* log, std::string name, std::chrono::nanoseconds d) {
    const mortal local(*log, name);
    co_await coflux::sleep_for(d);
    log->write(name + " wakes");
}

/// Whether the deadline stopped the sleeper. On a busy machine it may come before the end of what is in time: later
/// then.
template <typename E>
coflux::task<bool, E> has_a_deadline(auto&&, journal* log) {
    auto&& here = co_await coflux::context();
    for (auto after = 50ms;; after *= 2) {
        log->clear();
        const auto when = clock::now() + after;
        auto sub = coflux::make_environment(here, when);
        EXPECT_EQ(sub.deadline(), when);
        auto late = sleeps<E>(sub, log, "late", 10h);
        const auto soon = co_await coflux::as_outcome(sleeps<E>(sub, log, "soon", 1us));
        const bool is_in_time = soon.has_value() || clock::now() < when;
        const auto end = co_await coflux::as_outcome(std::move(late));
        EXPECT_GE(clock::now(), when) << "too early";
        co_await sub.join();
        if (is_in_time) co_return soon.has_value() && end.is_stopped();
    }
}

TEST(deadline, stops_everything_in_its_environment_on_every_executor) {
    pool threads(2);
    thread_executor thread;
    auto env = coflux::make_environment(threads, thread, noop{});
    journal log;
    const lines both{"soon wakes", "soon dies", "late dies"};
    EXPECT_TRUE(has_a_deadline<pool>(env, &log).get());
    EXPECT_EQ(log.lines(), both);
    EXPECT_TRUE(has_a_deadline<thread_executor>(env, &log).get());
    EXPECT_EQ(log.lines(), both);
}

TEST(deadline, stops_what_no_executor_runs) {
    auto env = coflux::make_environment(noop{});
    journal log;
    EXPECT_TRUE(has_a_deadline<noop>(env, &log).get());
}

TEST(deadline, stops_what_is_made_after_it_has_passed) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    journal log;
    auto t = [](auto&&, journal* to) -> coflux::task<bool, pool> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here, clock::now() - 1s);
        auto late = sleeps<pool>(sub, to, "late", 10h);
        const auto end = co_await coflux::as_outcome(std::move(late));
        co_await sub.join();
        co_return end.is_stopped();
    }(env, &log);
    EXPECT_TRUE(t.get());
}

TEST(deadline, does_not_act_once_its_environment_has_gone) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    journal log;
    [](auto&&, journal* to) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (auto after = 20ms;; after *= 2) {
            to->clear();
            const auto when = clock::now() + after;
            {
                auto sub = coflux::make_environment(here, when);
                (void)co_await coflux::as_outcome(sleeps<pool>(sub, to, "child", 1us));
                co_await sub.join();
            }
            const bool is_in_time = clock::now() < when;  // else the machine is busy
            co_await sleeps<pool>(here, to, "other", when + 3ms - clock::now());
            if (is_in_time) break;
        }
    }(env, &log)
                                   .get();
    EXPECT_EQ(log.lines(), (lines{"child wakes", "child dies", "other wakes", "other dies"}));
}

TEST(deadline, that_is_farther_than_the_one_above_changes_nothing) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    journal log;
    auto t = [](auto&&, journal* to) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        const auto near = clock::now() + 1ms;
        auto sub = coflux::make_environment(here, near);
        auto child = [](auto&&, journal* log, clock::time_point above) -> coflux::fork<void, pool> {
            auto&& me = co_await coflux::context();
            auto inner = coflux::make_environment(me, above + 10h);
            EXPECT_EQ(inner.deadline(), above);
            auto late = sleeps<pool>(inner, log, "late", 10h);
            co_await inner.join();
            co_await std::move(late);
        }(sub, to, near);
        const auto end = co_await coflux::as_outcome(std::move(child));
        EXPECT_TRUE(end.is_stopped());
        co_await sub.join();
    }(env, &log);
    t.get();
    EXPECT_EQ(log.lines(), lines{"late dies"});
}

/// The stop token may tell of it before the request of the timer.
TEST(deadline, that_is_seen_by_the_token_first_is_late_all_the_same) {
    pool threads(2);
    auto env = coflux::make_environment(threads);
    [](auto&&, std::size_t rounds) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        const auto spins = [](coflux::environment&) -> coflux::call<int> {
            auto&& me = co_await coflux::context();
            while (!me.stop_requested()) {}
            co_await coflux::this_coroutine::stop();
            co_return 1;
        };
        for (std::size_t round = 0; round < rounds; ++round) {
            const auto got = co_await coflux::deadline(spins(here), clock::now() + 50us);
            EXPECT_FALSE(got.has_value());
        }
    }(env, coflux_test::repetitions(20'000) + 500)
                                          .get();
}

TEST(deadline, of_environments_that_end_at_about_their_time_does_no_harm) {
    pool threads(2);
    auto env = coflux::make_environment(threads);
    std::atomic<std::size_t> stopped{0};
    const std::size_t rounds = coflux_test::repetitions(200) + 10;
    [](auto&&, borrowed<std::atomic<std::size_t>> count, std::size_t n) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        std::mt19937 random(3);
        for (std::size_t round = 0; round < n; ++round) {
            std::vector<coflux::fork<void, pool>> all;
            for (int i = 0; i < 20; ++i) {
                all.push_back(
                    [](auto&&, unsigned us, borrowed<std::atomic<std::size_t>> of) -> coflux::fork<void, pool> {
                        auto&& me = co_await coflux::context();
                        auto sub = coflux::make_environment(me, clock::now() + 100us);
                        auto child = [](auto&&, unsigned d) -> coflux::fork<void, pool> {
                            co_await coflux::sleep_for(std::chrono::microseconds(d));
                        }(sub, us);
                        const auto end = co_await coflux::as_outcome(std::move(child));
                        co_await sub.join();
                        of->fetch_add(end.is_stopped() ? 1 : 0, std::memory_order_relaxed);
                    }(here, random() % 200, count));
            }
            co_await coflux::when_all(std::move(all));
        }
    }(env, borrowed(stopped), rounds)
                                                                               .get();
    EXPECT_GT(stopped.load(), 0U);
    EXPECT_LT(stopped.load(), rounds * 20);
}

coflux::task<bool, pool> is_stopped_at_once(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here, clock::now() - 1h);
    auto child = [](coflux::environment&) -> coflux::fork<void, pool> { co_await coflux::yield(); }(sub);
    const auto end = co_await coflux::as_outcome(std::move(child));
    co_await sub.join();
    co_return end.is_stopped();
}

TEST(deadline, of_an_environment_that_has_passed_acts_before_anything_begins) {
    pool threads(1);
    auto env = coflux::make_environment(threads);
    EXPECT_TRUE(is_stopped_at_once(env).get());
}

}  // namespace
