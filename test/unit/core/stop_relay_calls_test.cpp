// A call that was made in an environment object, and that an operation awaits: stopped with the operation and with the
// object.
#include <coflux/core/detail/wait/stop_relay.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory_resource>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

#include "support/iterations.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::testing::sim_executor;
using pool = coflux::thread_pool_executor;

template <typename F>
coflux::task<void, sim_executor> root(coflux::environment&, F f) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
    co_await f(here, sub);
    co_await sub.join();
}
/// Runs `f(here, sub)`, a call, in a world of its own, with an environment object of its coroutine; gives the virtual
/// time that it took, to the join of the object.
template <typename F>
std::chrono::nanoseconds simulated(F f) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation world(in_order);
    sim_executor executor;
    auto env = coflux::make_environment(executor);
    root(env, f).get();
    return world.elapsed();
}

coflux::call<int> naps(coflux::environment&, std::chrono::nanoseconds d) {
    co_await coflux::sleep_for(d);
    co_return 1;
}
coflux::call<int> fails(coflux::environment&) {
    co_await coflux::sleep_for(1ms);
    throw std::runtime_error("failed");
}
coflux::fork<int, sim_executor> forked_nap(coflux::environment&, std::chrono::nanoseconds d) {
    co_await coflux::sleep_for(d);
    co_return 2;
}
coflux::call<int> calls_and_forks(coflux::environment&, std::chrono::nanoseconds d) {
    auto&& here = co_await coflux::context();
    auto child = forked_nap(here, d);
    const int first = co_await naps(here, d);
    co_return first + co_await std::move(child);
}

coflux::call<void> naps_with_a_limit(coflux::environment& in) {
    (void)co_await coflux::timeout(naps(in, 10h), 5h);
}

TEST(stop_relay_calls, a_limit_reaches_a_call_of_an_environment_object) {
    EXPECT_EQ(simulated([](auto&, auto& sub) -> coflux::call<void> {
                  EXPECT_EQ(co_await coflux::timeout(naps(sub, 10h), 3ms), std::nullopt);
                  EXPECT_EQ(co_await coflux::deadline(naps(sub, 10h), coflux::clock::now() + 3ms), std::nullopt);
                  const auto end = co_await coflux::timeout(coflux::as_outcome(naps(sub, 10h)), 3ms);
                  EXPECT_TRUE(!end.has_value() || end->is_stopped());
                  EXPECT_EQ(co_await coflux::timeout(naps(sub, 1ms), 3ms), 1);
              }),
              10ms);
}

TEST(stop_relay_calls, and_what_that_has_below_it) {
    EXPECT_EQ(simulated([](auto&, auto& sub) -> coflux::call<void> {
                  EXPECT_EQ(co_await coflux::timeout(calls_and_forks(sub, 10h), 3ms), std::nullopt);
                  EXPECT_EQ(co_await coflux::timeout(calls_and_forks(sub, 1ms), 3ms), 3);
              }),
              4ms);
}

TEST(stop_relay_calls, a_decision_reaches_those_that_lost) {
    EXPECT_EQ(simulated([](auto&, auto& sub) -> coflux::call<void> {
                  (void)co_await coflux::when_any(naps(sub, 10h), coflux::sleep_for(1ms));
                  (void)co_await coflux::race(naps(sub, 10h), naps(sub, 1ms));
                  (void)co_await coflux::first_success(naps(sub, 10h), fails(sub), naps(sub, 2ms));
                  EXPECT_EQ(co_await coflux::timeout(coflux::when_all(naps(sub, 10h), naps(sub, 1ms)), 1ms),
                            std::nullopt);
                  EXPECT_EQ(co_await coflux::timeout(coflux::select(naps(sub, 10h), naps(sub, 9h)), 1ms), std::nullopt);
              }),
              6ms);
}

TEST(stop_relay_calls, a_loop_reaches_those_that_its_function_makes) {
    EXPECT_EQ(simulated([](auto&, auto& sub) -> coflux::call<void> {
                  const std::vector<int> elements = {1, 2, 3};
                  const auto nap = [&sub](int) { return naps(sub, 10h); };
                  EXPECT_FALSE(co_await coflux::timeout(coflux::for_each_concurrent(elements, 2, nap), 3ms));
              }),
              3ms);
}

TEST(stop_relay_calls, the_environment_object_reaches_them_too) {
    EXPECT_EQ(simulated([](auto& here, auto& sub) -> coflux::call<void> {
                  auto stopper =
                      [](coflux::environment&,
                         borrowed<std::remove_reference_t<decltype(sub)>> of) -> coflux::fork<void, sim_executor> {
                      co_await coflux::sleep_for(2ms);
                      of->request_stop();
                  }(here, borrowed(sub));
                  const auto end = co_await coflux::as_outcome(naps_with_a_limit(sub));
                  EXPECT_TRUE(end.is_stopped());
                  co_await std::move(stopper);
              }),
              2ms);
}

TEST(stop_relay_calls, an_error_comes_out_of_the_operation_alone) {
    EXPECT_EQ(simulated([](auto&, auto& sub) -> coflux::call<void> {
                  try {
                      (void)co_await coflux::timeout(fails(sub), 3ms);
                      ADD_FAILURE() << "nothing thrown";
                  } catch (const std::runtime_error& e) {
                      EXPECT_STREQ(e.what(), "failed");
                      EXPECT_TRUE(coflux::other_errors().empty());
                  }
                  co_await sub.join();  // throws none
              }),
              1ms);
}

TEST(stop_relay_calls, one_that_never_begins_is_not_waited_for) {
    EXPECT_EQ(simulated([](auto&, auto& sub) -> coflux::call<void> {
                  coflux::channel<int[1]> ready;
                  EXPECT_TRUE(ready.try_send(1));
                  (void)co_await coflux::select(ready.receive(), naps(sub, 10h));
                  co_await sub.join();
                  EXPECT_EQ(co_await coflux::timeout(naps(sub, 10h), 0ms), std::nullopt);
                  co_await sub.join();
              }),
              0ms);
}

/// A call's sight of the environment that it was made in.
struct seen {
    std::pmr::memory_resource* memory;
    std::optional<std::chrono::steady_clock::time_point> deadline;
    coflux::executor_ref executor;
};
coflux::call<seen> looks(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_await coflux::yield();
    co_return seen{here.memory_resource(), here.deadline(), co_await coflux::this_coroutine::executor()};
}

TEST(stop_relay_calls, it_keeps_the_memory_and_the_deadline_of_its_environment_object) {
    simulated([](auto& here, auto&) -> coflux::call<void> {
        std::pmr::unsynchronized_pool_resource memory;
        auto sub = coflux::make_environment(here, &memory, coflux::clock::now() + 1h);
        const auto given = co_await coflux::timeout(looks(sub), 3ms);
        EXPECT_EQ(given->memory, &memory);
        EXPECT_TRUE(given->executor == co_await coflux::this_coroutine::executor());
        EXPECT_EQ(given->deadline, sub.deadline());
        const auto nearer = co_await coflux::deadline(looks(sub), coflux::clock::now() + 1ms);
        EXPECT_EQ(nearer->memory, &memory);
        EXPECT_LT(nearer->deadline, sub.deadline());
        co_await sub.join();
    });
}

TEST(stop_relay_calls, in_a_block_a_call_of_its_scope_is_stopped_by_a_limit) {
    EXPECT_EQ(simulated([](auto& here, auto&) -> coflux::call<void> {
                  co_await coflux::with_scope(here, [](coflux::task_scope& scope) -> coflux::call<void> {
                      EXPECT_EQ(co_await coflux::timeout(naps(scope, 10h), 3ms), std::nullopt);
                  });
              }),
              3ms);
}

}  // namespace
