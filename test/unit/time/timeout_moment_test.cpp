// Limits that are made 50 ms before they are awaited.
#include <coflux/time/timeout.hpp>

#include <array>
#include <chrono>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "in_virtual_time.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using coflux_test::nanoseconds;
using coflux_test::sim_executor;
using coflux_test::virtual_time;

coflux::fork<void, sim_executor> never_ends(environment&) {
    co_await coflux::sleep_for(1h);
}
coflux::fork<int, sim_executor> gives(environment&, nanoseconds after) {
    co_await coflux::sleep_for(after);
    co_return 1;
}

/// Runs `body(here)`; the environment and the clock are those of a simulation.
template <typename F>
void simulated(F body) {
    virtual_time world;
    constexpr auto runs = [](environment&, F f) -> coflux::task<void, sim_executor> {
        auto&& here = co_await coflux::context();
        co_await f(here);
    };
    runs(world.env, body).get();
}

/// Awaits `limit` after 50 ms, and gives how long it then took.
template <typename Limit>
coflux::call<nanoseconds> time_of(environment&, Limit limit, bool ends_late) {
    co_await coflux::sleep_for(50ms);
    const auto begin = coflux::clock::now();
    const auto result = co_await std::move(limit);
    EXPECT_EQ(result.timed_out(), ends_late);
    co_return coflux::clock::now() - begin;
}

TEST(timeout_moment, of_a_fork_is_counted_from_the_await) {
    simulated([](environment& here) -> coflux::call<void> {
        auto slow = never_ends(here);
        EXPECT_EQ(co_await time_of(here, coflux::timeout(std::move(slow), 100ms), true), 100ms);
        auto quick = gives(here, 120ms);
        EXPECT_EQ(co_await time_of(here, coflux::timeout(std::move(quick), 100ms), false), 70ms);
    });
}

TEST(timeout_moment, of_what_begins_at_its_await_is_counted_from_there) {
    simulated([](environment& here) -> coflux::call<void> {
        auto nap = coflux::sleep_for(1h);
        EXPECT_EQ(co_await time_of(here, coflux::timeout(nap, 100ms), true), 100ms);
        coflux::manual_reset_event never;
        auto waits = never.wait();
        EXPECT_EQ(co_await time_of(here, coflux::timeout(waits, 100ms), true), 100ms);
    });
}

TEST(timeout_moment, of_forks_that_are_awaited_together_is_counted_from_the_await) {
    simulated([](environment& here) -> coflux::call<void> {
        std::array<coflux::fork<void, sim_executor>, 2> both{never_ends(here), never_ends(here)};
        auto all = coflux::when_all(std::move(both));
        EXPECT_EQ(co_await time_of(here, coflux::timeout(std::move(all), 100ms), true), 100ms);
        auto first = never_ends(here);
        auto second = never_ends(here);
        auto any = coflux::when_any(std::move(first), std::move(second));
        EXPECT_EQ(co_await time_of(here, coflux::timeout(std::move(any), 100ms), true), 100ms);
    });
}

TEST(timeout_moment, of_a_limit_in_a_select_is_that_of_the_select) {
    simulated([](environment& here) -> coflux::call<void> {
        auto slow = never_ends(here);
        auto limit = coflux::timeout(std::move(slow), 100ms);
        coflux::manual_reset_event never;
        co_await coflux::sleep_for(50ms);
        const auto begin = coflux::clock::now();
        const auto result = co_await coflux::select(std::move(limit), never.wait());
        EXPECT_EQ(result.index(), 0U);
        EXPECT_EQ(coflux::clock::now() - begin, 100ms);
    });
}

TEST(timeout_moment, of_a_wait_for_a_condition_is_its_await) {
    simulated([](environment&) -> coflux::call<void> {
        coflux::mutex m;
        coflux::condition_variable changed;
        auto guard = co_await m.lock();
        auto waits = changed.wait_for(guard, 100ms);
        const auto never = [] { return false; };
        auto waits_for_it = changed.wait_for(guard, 100ms, never);
        auto waits_until = changed.wait_until(guard, coflux::clock::now() + 250ms, never);
        co_await coflux::sleep_for(50ms);
        const auto begin = coflux::clock::now();
        EXPECT_TRUE((co_await std::move(waits)).timed_out());
        EXPECT_EQ(coflux::clock::now() - begin, 100ms);
        EXPECT_TRUE((co_await std::move(waits_for_it)).timed_out());
        EXPECT_EQ(coflux::clock::now() - begin, 200ms);
        EXPECT_TRUE((co_await std::move(waits_until)).timed_out());
        EXPECT_EQ(coflux::clock::now() - begin, 200ms);
    });
}

TEST(timeout_moment, of_a_notified_wait_is_still_that_of_the_first_await) {
    simulated([](environment& here) -> coflux::call<void> {
        coflux::mutex m;
        coflux::condition_variable changed;
        auto notifies = [](environment&,
                           coflux::borrowed<coflux::condition_variable> of) -> coflux::fork<void, sim_executor> {
            co_await coflux::sleep_for(60ms);
            of->notify_one();
        }(here, coflux::borrowed(changed));
        auto guard = co_await m.lock();
        const auto begin = coflux::clock::now();
        const auto never = [] { return false; };
        EXPECT_TRUE((co_await changed.wait_for(guard, 100ms, never)).timed_out());
        EXPECT_EQ(coflux::clock::now() - begin, 100ms);
        co_await std::move(notifies);
    });
}

TEST(timeout_moment, of_a_deadline_is_the_moment_it_names) {
    simulated([](environment& here) -> coflux::call<void> {
        auto slow = never_ends(here);
        auto limit = coflux::deadline(std::move(slow), coflux::clock::now() + 80ms);
        EXPECT_EQ(co_await time_of(here, std::move(limit), true), 30ms);
    });
}

}  // namespace
