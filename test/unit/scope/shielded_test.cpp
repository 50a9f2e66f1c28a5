#include <coflux/scope/shielded.hpp>

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
using coflux::testing::sim_executor;
using number = coflux::fork<int, sim_executor>;

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

number naps(coflux::environment&, std::chrono::nanoseconds d) {
    co_await coflux::sleep_for(d);
    co_return 1;
}
/// Waits in itself, in a fork, and in a call of a combinator.
coflux::call<int> works(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_await 1ms;
    int sum = co_await naps(here, 1ms);
    const auto [a, b] = co_await coflux::when_all(naps(here, 1ms), naps(here, 2ms));
    sum += a + b;
    co_return sum;
}
coflux::call<int> fails(coflux::environment&) {
    co_await 1ms;
    throw std::runtime_error("as it does");
}
coflux::call<int> stops(coflux::environment&) {
    co_await 1ms;
    co_await coflux::this_coroutine::stop();
    co_return 1;
}

struct seen {
    int result = 0;
    bool after = false;
};
number shields(coflux::environment&, borrowed<seen> s) {
    auto&& here = co_await coflux::context();
    s->result = co_await coflux::shielded(works(here));
    co_await coflux::yield();
    s->after = true;
    co_return 1;
}

TEST(shielded, an_operation_runs_to_its_end_and_the_stop_takes_effect_after_it) {
    const auto took = simulated([](coflux::environment& here) -> coflux::call<void> {
        seen s;
        auto waits = shields(here, borrowed(s));
        co_await 2500us;
        waits.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(waits));
        EXPECT_TRUE(end.is_stopped());
        EXPECT_EQ(s.result, 3);
        EXPECT_FALSE(s.after);
    });
    EXPECT_EQ(took, 4ms);
}

TEST(shielded, one_that_begins_after_the_stop_runs_too) {
    const auto took = simulated([](coflux::environment& here) -> coflux::call<void> {
        seen s;
        auto waits = shields(here, borrowed(s));
        waits.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(waits));
        EXPECT_TRUE(end.is_stopped());
        EXPECT_EQ(s.result, 3);
    });
    EXPECT_EQ(took, 4ms);
}

TEST(shielded, a_limit_or_a_winner_above_waits_for_it) {
    const auto took = simulated([](coflux::environment& here) -> coflux::call<void> {
        const auto got = co_await coflux::timeout(coflux::shielded(works(here)), 1ms);
        EXPECT_EQ(got, 3);
        const auto first = co_await coflux::when_any(coflux::shielded(works(here)), naps(here, 1ms));
        EXPECT_EQ(first.index(), 1U);
    });
    EXPECT_EQ(took, 8ms);
}

TEST(shielded, a_deadline_above_does_not_reach_it) {
    simulated([](coflux::environment& here) -> coflux::call<void> {
        auto sub = coflux::make_environment(here, coflux::clock::now() + 1ms);
        seen s;
        auto waits = shields(sub, borrowed(s));
        const auto end = co_await coflux::as_outcome(std::move(waits));
        EXPECT_TRUE(end.is_stopped());
        EXPECT_EQ(s.result, 3);
        co_await sub.join();
    });
}

TEST(shielded, a_limit_inside_it_works) {
    const auto took = simulated([](coflux::environment& here) -> coflux::call<void> {
        const auto got = co_await coflux::shielded(coflux::timeout(naps(here, 10h), 2ms));
        EXPECT_FALSE(got.has_value());
    });
    EXPECT_EQ(took, 2ms);
}

TEST(shielded, its_error_is_thrown) {
    simulated([](coflux::environment& here) -> coflux::call<void> {
        EXPECT_THROW((void)co_await coflux::shielded(fails(here)), std::runtime_error);
        const auto end = co_await coflux::as_outcome(coflux::shielded(fails(here)));
        EXPECT_TRUE(end.has_error());
    });
}

number waits_for_one_that_stops(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_return co_await coflux::shielded(stops(here));
}

TEST(shielded, an_operation_that_stops_itself_stops_its_awaiter_unless_it_is_an_outcome) {
    simulated([](coflux::environment& here) -> coflux::call<void> {
        auto waits = waits_for_one_that_stops(here);
        const auto end = co_await coflux::as_outcome(std::move(waits));
        EXPECT_TRUE(end.is_stopped());
        const auto own = co_await coflux::as_outcome(coflux::shielded(stops(here)));
        EXPECT_TRUE(own.is_stopped());
    });
}

TEST(shielded, takes_operations_of_primitives_and_views) {
    simulated([](coflux::environment& here) -> coflux::call<void> {
        coflux::channel<int[1]> ch;
        co_await coflux::shielded(ch.send(4));
        EXPECT_EQ(co_await coflux::shielded(ch.receive()), 4);
        auto fork = naps(here, 1ms);
        EXPECT_EQ(co_await coflux::shielded(fork.view()), 1);
        co_await coflux::shielded(coflux::sleep_for(1ms));
        EXPECT_EQ(co_await std::move(fork), 1);
    });
}

}  // namespace
