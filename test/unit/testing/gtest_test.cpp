#include <coflux/testing/gtest.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

namespace {

using coflux::borrowed;
using coflux::testing::explore_options;
using coflux::testing::run_test_body;
using coflux::testing::sim_executor;

TEST(testing_with_gtest, makes_a_failure_of_the_kit_one_of_the_test) {
    EXPECT_FALSE(coflux::testing::test_has_failed());
    EXPECT_NONFATAL_FAILURE(coflux::testing::report_failure("broken"), "broken");
}

TEST(testing_with_gtest, reports_broken_laws_and_is_silent_where_none_is) {
    coflux::testing::expect_none({});
    EXPECT_NONFATAL_FAILURE(coflux::testing::expect_none({{"a_law", "something else"}}), "a_law: something else");
}

CO_TEST(co_test, runs_a_coroutine_in_virtual_time) {
    const auto before = coflux::clock::now();
    co_await coflux::sleep_for(std::chrono::hours(24));
    CO_ASSERT_EQ(coflux::clock::now() - before, std::chrono::hours(24));
}
CO_TEST_ON(co_test, runs_a_coroutine_on_a_pool, coflux::thread_pool_executor) {
    co_await coflux::yield();
    auto ex = co_await coflux::this_coroutine::executor();
    CO_ASSERT_TRUE(ex);
}
CO_TEST_ON(co_test, runs_a_coroutine_by_hand, coflux::testing::manual_executor) {
    co_await coflux::yield();
    CO_ASSERT_FALSE(false);
}

coflux::fork<void, sim_executor> adds_one(auto&&, borrowed<int> balance) {
    const int seen = *balance;
    co_await coflux::yield();
    *balance = seen + 1;
}
/// Two that add at the same time: under FIFO, and in other orders, one addition is lost.
coflux::task<void, sim_executor> loses_an_addition(coflux::environment&) {
    auto&& here = co_await coflux::context();
    int balance = 0;
    auto a = adds_one(here, borrowed(balance));
    auto b = adds_one(here, borrowed(balance));
    co_await std::move(a);
    co_await std::move(b);
    EXPECT_EQ(balance, 2) << "an addition was lost";
}

TEST(co_test, reports_a_failing_schedule_once_and_how_to_replay_it) {
    EXPECT_NONFATAL_FAILURE(run_test_body(&loses_an_addition), "an addition was lost");
    EXPECT_NONFATAL_FAILURE(run_test_body(&loses_an_addition), "COFLUX_SCHEDULE=");
}

coflux::task<void, sim_executor> waits_for_ever(coflux::environment&) {
    coflux::manual_reset_event never;
    co_await never.wait();
}
coflux::task<void, sim_executor> throws(coflux::environment&) {
    co_await coflux::yield();
    throw std::runtime_error("thrown in the body");
}

TEST(co_test, reports_a_deadlock_and_an_exception) {
    EXPECT_NONFATAL_FAILURE(run_test_body(&waits_for_ever), "deadlock");
    EXPECT_NONFATAL_FAILURE(run_test_body(&throws), "thrown in the body");
}

int runs = 0;
coflux::task<void, sim_executor> counts_runs(coflux::environment&) {
    ++runs;
    co_return;
}

TEST(co_test, runs_as_often_as_it_is_asked_to) {
    runs = 0;
    explore_options options;
    options.runs = 7;
    run_test_body(&counts_runs, options);
    EXPECT_EQ(runs, 7);
}

bool went_on = false;
template <int Check>
coflux::task<void, sim_executor> asserts(coflux::environment&) {
    co_await coflux::yield();
    if constexpr (Check == 0) {
        CO_ASSERT_TRUE(runs == -1) << "said so";
    }
    if constexpr (Check == 1) {
        CO_ASSERT_FALSE(runs != -1) << "said so";
    }
    if constexpr (Check == 2) {
        CO_ASSERT_EQ(1, 2) << "said so";
    }
    if constexpr (Check == 3) {
        CO_ASSERT_NE(1, 1) << "said so";
    }
    if constexpr (Check == 4) {
        CO_ASSERT_LT(2, 1) << "said so";
    }
    if constexpr (Check == 5) {
        CO_ASSERT_LE(2, 1) << "said so";
    }
    if constexpr (Check == 6) {
        CO_ASSERT_GT(1, 2) << "said so";
    }
    if constexpr (Check == 7) {
        CO_ASSERT_GE(1, 2) << "said so";
    }
    went_on = true;
}

template <int Check>
void check_assertion() {
    went_on = false;
    EXPECT_NONFATAL_FAILURE(run_test_body(&asserts<Check>), "said so");
    EXPECT_FALSE(went_on);
}

TEST(co_assert, ends_the_coroutine_where_the_check_does_not_hold) {
    check_assertion<0>();
    check_assertion<1>();
    check_assertion<2>();
    check_assertion<3>();
    check_assertion<4>();
    check_assertion<5>();
    check_assertion<6>();
    check_assertion<7>();
}

}  // namespace
