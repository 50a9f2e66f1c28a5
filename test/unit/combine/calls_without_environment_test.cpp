// Each operation takes calls that name no environment: they run in the fork that the operation makes for them, and are
// stopped with it.
#include <coflux/combine/when_all.hpp>

#include <chrono>
#include <cstddef>
#include <memory_resource>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::testing::sim_executor;

template <typename F>
coflux::task<void, sim_executor> root(coflux::environment&, F f) {
    co_await f();
}
/// Awaits `f()` in a world of its own, gives the virtual time that it took.
template <typename F>
std::chrono::nanoseconds simulated(F f) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation world(in_order);
    sim_executor executor;
    coflux::counting_resource memory;
    {
        auto env = coflux::make_environment(executor, &memory);
        root(env, f).get();
    }
    EXPECT_EQ(memory.live(), 0U);
    return world.elapsed();
}

coflux::call<int> naps(std::chrono::nanoseconds d) {
    co_await coflux::sleep_for(d);
    co_return 1;
}
coflux::call<int> naps_below(std::chrono::nanoseconds d) {
    co_return co_await naps(d);
}
coflux::call<int> fails() {
    co_await coflux::sleep_for(1ms);
    throw std::system_error(std::make_error_code(std::errc::io_error));
}
coflux::call<std::pmr::memory_resource*> asks_for_memory() {
    co_return co_await coflux::this_coroutine::memory_resource();
}
coflux::call<std::optional<std::chrono::steady_clock::time_point>> asks_for_deadline() {
    co_return co_await coflux::this_coroutine::deadline();
}

TEST(calls_without_environment, when_all_takes_them) {
    EXPECT_EQ(simulated([]() -> coflux::call<void> {
                  const auto memory = co_await coflux::this_coroutine::memory_resource();
                  const auto [a, b, c] = co_await coflux::when_all(naps(1ms), naps_below(2ms), asks_for_memory());
                  EXPECT_EQ(a + b, 2);
                  EXPECT_EQ(c, memory);
                  EXPECT_TRUE(
                      (co_await coflux::timeout(coflux::when_all(naps(1ms), naps_below(10h)), 2ms)).timed_out());
              }),
              4ms);
}

TEST(calls_without_environment, when_all_outcomes_takes_them) {
    EXPECT_EQ(simulated([]() -> coflux::call<void> {
                  const auto [a, b] = co_await coflux::when_all_outcomes(naps_below(2ms), fails());
                  EXPECT_EQ(*a, 1);
                  EXPECT_TRUE(b.has_error());
              }),
              2ms);
}

TEST(calls_without_environment, when_any_takes_them_and_stops_those_that_lose) {
    EXPECT_EQ(simulated([]() -> coflux::call<void> {
                  const auto first = co_await coflux::when_any(naps_below(10h), naps(1ms));
                  EXPECT_EQ(first.index(), 1U);
              }),
              1ms);
}

TEST(calls_without_environment, race_takes_them_and_stops_those_that_lose) {
    EXPECT_EQ(
        simulated([]() -> coflux::call<void> { EXPECT_EQ(co_await coflux::race(naps_below(10h), naps(1ms)), 1); }),
        1ms);
}

TEST(calls_without_environment, first_success_takes_them_and_stops_those_that_lose) {
    EXPECT_EQ(simulated([]() -> coflux::call<void> {
                  EXPECT_EQ(co_await coflux::first_success(fails(), naps_below(10h), naps(2ms)), 1);
              }),
              2ms);
}

TEST(calls_without_environment, select_takes_them_and_stops_those_that_lose) {
    EXPECT_EQ(simulated([]() -> coflux::call<void> {
                  coflux::channel<int[1]> never;
                  const auto first = co_await coflux::select(never.receive(), naps_below(10h), naps(1ms));
                  EXPECT_EQ(first.index(), 2U);
              }),
              1ms);
}

TEST(calls_without_environment, timeout_limits_them) {
    EXPECT_EQ(simulated([]() -> coflux::call<void> {
                  EXPECT_EQ(co_await coflux::timeout(naps_below(1ms), 3ms), 1);
                  EXPECT_EQ(co_await coflux::timeout(naps_below(10h), 3ms), std::nullopt);
              }),
              4ms);
}

TEST(calls_without_environment, deadline_limits_them_and_is_theirs) {
    EXPECT_EQ(simulated([]() -> coflux::call<void> {
                  const auto at = coflux::clock::now() + 3ms;
                  const auto theirs = co_await coflux::deadline(asks_for_deadline(), at);
                  EXPECT_EQ(*theirs, at);
                  EXPECT_EQ(co_await coflux::deadline(naps_below(10h), at), std::nullopt);
              }),
              3ms);
}

TEST(calls_without_environment, with_scope_has_them_in_its_block) {
    EXPECT_EQ(simulated([]() -> coflux::call<void> {
                  auto&& here = co_await coflux::context();
                  const int got = co_await coflux::with_scope(here, [](coflux::task_scope&) -> coflux::call<int> {
                      const int one = co_await naps_below(1ms);
                      co_return one + co_await naps(1ms);
                  });
                  EXPECT_EQ(got, 2);
                  const auto limited = co_await coflux::timeout(
                      coflux::with_scope(
                          here, [](coflux::task_scope&) -> coflux::call<void> { (void)co_await naps_below(10h); }),
                      1ms);
                  EXPECT_FALSE(limited);
              }),
              3ms);
}

coflux::call<void> shields_a_nap(bool* napped) {
    (void)co_await coflux::shielded(naps_below(5ms));
    *napped = true;
    co_await coflux::yield();
    ADD_FAILURE() << "the stop takes effect behind the shield";
}

TEST(calls_without_environment, shielded_keeps_a_stop_from_them) {
    EXPECT_EQ(simulated([]() -> coflux::call<void> {
                  bool napped = false;
                  EXPECT_FALSE(co_await coflux::timeout(shields_a_nap(&napped), 1ms));
                  EXPECT_TRUE(napped);
              }),
              5ms);
}

TEST(calls_without_environment, as_outcome_gives_their_end) {
    EXPECT_EQ(simulated([]() -> coflux::call<void> {
                  const auto value = co_await coflux::as_outcome(naps_below(1ms));
                  EXPECT_EQ(*value, 1);
                  const auto error = co_await coflux::as_outcome(fails());
                  EXPECT_TRUE(error.has_error());
                  const auto [both] = co_await coflux::when_all(coflux::as_outcome(naps_below(1ms)));
                  EXPECT_EQ(*both, 1);
              }),
              3ms);
}

TEST(calls_without_environment, as_result_gives_their_system_error) {
    EXPECT_EQ(simulated([]() -> coflux::call<void> {
                  const auto value = co_await coflux::as_result(naps_below(1ms));
                  EXPECT_EQ(*value, 1);
                  const auto error = co_await coflux::as_result(fails());
                  EXPECT_EQ(error.error(), std::errc::io_error);
                  const auto limited = co_await coflux::timeout(coflux::as_result(naps_below(10h)), 1ms);
                  EXPECT_EQ(limited.error(), std::errc::timed_out);
              }),
              3ms);
}

TEST(calls_without_environment, for_each_concurrent_takes_functions_that_give_them) {
    EXPECT_EQ(simulated([]() -> coflux::call<void> {
                  const std::vector<int> elements = {1, 2, 3};
                  int sum = 0;
                  const auto adds = [&sum](int x) -> coflux::call<void> { sum += x * co_await naps_below(1ms); };
                  co_await coflux::for_each_concurrent(elements, 3, adds);
                  EXPECT_EQ(sum, 6);
                  const auto waits = [](coflux::environment&, int) { return naps_below(10h); };
                  EXPECT_FALSE(co_await coflux::timeout(coflux::for_each_concurrent(elements, 2, waits), 3ms));
              }),
              4ms);
}

}  // namespace
