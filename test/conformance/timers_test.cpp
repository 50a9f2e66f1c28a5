// The laws of sleeps: on ours they hold, and an executor that cannot keep them is found out.
#include <coflux/testing/conformance/timers_suite.hpp>

#include <chrono>
#include <coroutine>
#include <thread>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/manual_executor.hpp>

#include "subjects.hpp"
#include "support/executors.hpp"

// Not anonymous: g++ warns of coroutines of a header whose frames have members of such types.
namespace conformance_of_timers {

using coflux::testing::manual_executor;
using coflux_test::fresh;
using coflux_test::simulated;

struct pool_of_two {
    coflux::thread_pool_executor operator()() const { return coflux::thread_pool_executor(2); }
};

}  // namespace conformance_of_timers

namespace coflux::testing {

using namespace conformance_of_timers;
using our_timers =
    ::testing::Types<pool_of_two, fresh<manual_executor>, fresh<coflux_test::thread_executor>, fresh<simulated>>;
INSTANTIATE_TYPED_TEST_SUITE_P(ours, timer_conformance, our_timers);

using our_priorities = ::testing::Types<fresh<coflux_test::priority_of_pool<coflux::priority::high>>,
                                        fresh<coflux_test::priority_of_pool<coflux::priority::low>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(priorities, timer_conformance, our_priorities);

using our_serial_timers = ::testing::Types<fresh<coflux::worker_executor>, fresh<coflux_test::driven_loop>,
                                           fresh<coflux_test::strand_of_pool>, fresh<coflux_test::strand_of_worker>,
                                           fresh<coflux_test::strand_of_loop>, fresh<coflux_test::strand_of_simulated>>;
INSTANTIATE_TYPED_TEST_SUITE_P(serial, timer_conformance, our_serial_timers);

}  // namespace coflux::testing

namespace conformance_of_timers {

/// Loses what another thread wakes, as that of the timers does.
class deaf : public manual_executor {
public:
    void execute(std::coroutine_handle<> h) noexcept {
        if (std::this_thread::get_id() == owner_) manual_executor::execute(h);
    }

private:
    std::thread::id owner_ = std::this_thread::get_id();
};

TEST(timer_laws, find_out_an_executor_that_loses_what_wakes) {
    coflux::testing::conformance_options options;
    options.patience = std::chrono::milliseconds(100);
    const auto found = coflux::testing::check_timers(fresh<deaf>{}, options);
    ASSERT_FALSE(
        found.empty());  // on a slow machine a sleep may be over before it begins, and then it need not be woken
    EXPECT_EQ(found[0].law, "is_never_early");
    EXPECT_EQ(found[0].seen, "a root did not end");
}

}  // namespace conformance_of_timers
