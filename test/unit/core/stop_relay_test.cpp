#include <coflux/core/detail/wait/stop_relay.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

#include "support/gate.hpp"
#include "support/iterations.hpp"
#include "support/witness.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::testing::sim_executor;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;
using number = coflux::fork<int, sim_executor>;

/// Runs `f(here)`, a call, in a world of its own; gives the virtual time that it took.
template <typename F>
coflux::task<void, sim_executor> root(coflux::environment&, F f) {
    auto&& here = co_await coflux::context();
    co_await f(here);
}
template <typename F>
std::chrono::nanoseconds simulated(F f) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation world(in_order);
    sim_executor executor;
    auto env = coflux::make_environment(executor);
    root(env, f).get();
    return world.elapsed();
}

template <typename E = sim_executor>
coflux::fork<int, E> naps(coflux::environment&, std::chrono::nanoseconds d) {
    co_await coflux::sleep_for(d);
    co_return 1;
}
/// Its own child it is not.
template <typename E = sim_executor>
coflux::fork<int, E> awaits(coflux::environment&, coflux::fork<int, E> given) {
    co_return co_await std::move(given);
}
coflux::fork<bool, sim_executor> looks_at(coflux::environment&, number given) {
    const auto end = co_await coflux::as_outcome(std::move(given));
    co_return end.is_stopped();
}
coflux::call<int> awaits_in_a_call(coflux::environment&, number given) {
    co_return co_await std::move(given);
}
/// Does not care for a stop.
coflux::fork<int, sim_executor> gives_when_stopped(coflux::environment&) {
    const auto token = co_await coflux::this_coroutine::stop_token();
    while (!token.stop_requested()) co_await coflux::shielded(coflux::sleep_for(1ms));
    co_return 7;
}

TEST(stop_relay, a_stop_reaches_a_fork_made_elsewhere_that_its_coroutine_awaits) {
    const auto took = simulated([](coflux::environment& here) -> coflux::call<void> {
        auto waits = awaits(here, naps(here, 10h));
        co_await 3ms;
        waits.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(waits));
        EXPECT_TRUE(end.is_stopped());
    });
    EXPECT_EQ(took, 3ms);
}

TEST(stop_relay, a_stop_that_came_before_the_await_reaches_it_too) {
    const auto took = simulated([](coflux::environment& here) -> coflux::call<void> {
        auto waits = awaits(here, naps(here, 10h));
        waits.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(waits));
        EXPECT_TRUE(end.is_stopped());
    });
    EXPECT_EQ(took, 0ms);
}

TEST(stop_relay, an_await_as_outcome_passes_it_on_and_its_coroutine_goes_on) {
    const auto took = simulated([](coflux::environment& here) -> coflux::call<void> {
        auto looks = looks_at(here, naps(here, 10h));
        co_await 3ms;
        looks.request_stop();
        EXPECT_TRUE(co_await std::move(looks));
    });
    EXPECT_EQ(took, 3ms);
}

TEST(stop_relay, what_completes_all_the_same_counts) {
    simulated([](coflux::environment& here) -> coflux::call<void> {
        auto waits = awaits(here, gives_when_stopped(here));
        co_await 3ms;
        waits.request_stop();
        EXPECT_EQ(co_await std::move(waits), 7);
    });
}

TEST(stop_relay, a_fork_with_views_is_reached_by_its_handle_and_not_by_a_view) {
    const auto took = simulated([](coflux::environment& here) -> coflux::call<void> {
        auto fork = naps(here, 5ms);
        auto view = fork.view();
        auto waits = awaits(here, std::move(fork));
        co_await 1ms;
        waits.request_stop();
        const auto end = co_await coflux::as_outcome(view);
        EXPECT_TRUE(end.is_stopped());
        (void)co_await coflux::as_outcome(std::move(waits));

        auto viewed = naps(here, 5ms);
        EXPECT_FALSE((co_await coflux::timeout(viewed.view(), 1ms)).has_value());
        EXPECT_FALSE(viewed.done());
        EXPECT_EQ(co_await std::move(viewed), 1);
    });
    EXPECT_EQ(took, 6ms);
}

TEST(stop_relay, a_limit_of_a_call_reaches_what_was_moved_into_its_parameters) {
    const auto took = simulated([](coflux::environment& here) -> coflux::call<void> {
        EXPECT_FALSE((co_await coflux::timeout(awaits_in_a_call(here, naps(here, 10h)), 3ms)).has_value());
    });
    EXPECT_EQ(took, 3ms);
}

TEST(stop_relay, a_fork_of_another_environment_is_stopped_with_the_operation_that_took_it_over) {
    const auto took = simulated([](coflux::environment& here) -> coflux::call<void> {
        auto sub = coflux::make_environment(here);
        auto waits = awaits(here, naps(sub, 10h));
        co_await 3ms;
        waits.request_stop();
        (void)co_await coflux::as_outcome(std::move(waits));
        co_await sub.join();
    });
    EXPECT_EQ(took, 3ms);
}

TEST(stop_relay, a_chain_of_any_length_is_stopped_in_constant_stack) {
    static constexpr std::size_t length = coflux_test::repetitions(100'000);
    simulated([](coflux::environment& here) -> coflux::call<void> {
        auto last = naps(here, 10h);
        for (std::size_t i = 0; i != length; ++i) last = awaits(here, std::move(last));
        EXPECT_FALSE((co_await coflux::timeout(std::move(last), 3ms)).has_value());
    });
}

coflux::task<bool, noop> without_executor(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto waits = awaits<noop>(here, naps<noop>(here, 10h));
    waits.request_stop();
    const auto end = co_await coflux::as_outcome(std::move(waits));
    const bool in_time = (co_await coflux::timeout(awaits<noop>(here, naps<noop>(here, 10h)), 1ms)).has_value();
    co_return end.is_stopped() && !in_time;
}

TEST(stop_relay, works_for_coroutines_that_no_executor_runs) {
    auto env = coflux::make_environment(noop{});
    EXPECT_TRUE(without_executor(env).get());
}

coflux::fork<void, pool> opens(coflux::environment&, borrowed<coflux_test::gate> g) {
    g->open();
    co_return;
}
coflux::fork<int, pool> waits_at(coflux::environment&, borrowed<coflux_test::gate> g) {
    co_await g->wait();
    co_return 1;
}

/// The end of what was taken over, and the stop, come at the same time: either may be the first, and nothing may be
/// touched twice.
coflux::task<std::size_t, pool> races(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    std::size_t ended = 0;
    for (std::size_t i = 0; i != rounds; ++i) {
        coflux_test::gate a, b;
        auto both = [](coflux::environment&, coflux::fork<int, pool> x,
                       coflux::fork<int, pool> y) -> coflux::fork<int, pool> {
            const auto [first, second] = co_await coflux::when_all(std::move(x), std::move(y));
            co_return first + second;
        };
        auto waits = both(here, awaits<pool>(here, waits_at(here, borrowed(a))), waits_at(here, borrowed(b)));
        if (i % 3 == 0) co_await coflux::yield();
        auto first = opens(here, borrowed(a));
        auto second = opens(here, borrowed(b));
        waits.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(waits));
        co_await std::move(first);
        co_await std::move(second);
        ended += end.has_value() || end.is_stopped() ? 1 : 0;
    }
    co_return ended;
}

TEST(stop_relay, of_an_end_and_a_stop_at_the_same_time_each_may_be_first) {
    pool threads(4);
    auto env = coflux::make_environment(threads);
    const std::size_t rounds = coflux_test::race_rounds / 20;
    EXPECT_EQ(races(env, rounds).get(), rounds);
}

/// Hands a child over and ends: from then on the child alone keeps it.
coflux::fork<void, sim_executor> makes(coflux::environment&, borrowed<std::optional<number>> made) {
    auto&& here = co_await coflux::context();
    made->emplace(naps(here, 1ms));
}

// The child may end on another thread between the look at whether it has and the question whether it is stopped.
TEST(stop_relay, the_question_whether_a_child_is_stopped_does_not_look_at_its_maker) {
    simulated([](coflux::environment& here) -> coflux::call<void> {
        std::optional<number> made;
        makes(here, borrowed(made)).attach();
        co_await 2ms;
        EXPECT_TRUE(made->done());  // and its maker is gone
        auto&& self = co_await coflux::context();
        EXPECT_FALSE(coflux::detail::is_stopped_with(static_cast<coflux::detail::promise_base&>(self),
                                                     coflux::detail::await_access::used(*made)));
        EXPECT_EQ(co_await std::move(*made), 1);
    });
}

}  // namespace
