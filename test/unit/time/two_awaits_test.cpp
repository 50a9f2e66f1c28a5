// An await that is completed and never resumed from, as g++ leaves those of an expression whose first await throws
// (COFLUX_LATE_RESULTS): what it took goes back.
#include <coflux/time/rate_limiter.hpp>

#include <chrono>
#include <stdexcept>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "in_virtual_time.hpp"
#include "support/left_await.hpp"

#if COFLUX_LATE_RESULTS
namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::rate_limiter;
using coflux_test::sim_task;
using coflux_test::virtual_time;

TEST(left_acquire, gives_back_what_it_took) {
    virtual_time v;
    rate_limiter l(1, 1s, 2);
    [](coflux::environment&, borrowed<rate_limiter> l) -> sim_task {
        for (int i = 0; i != 2; ++i) {
            try {
                co_await coflux_test::left(l->acquire(2));
                ADD_FAILURE() << "it was left";
            } catch (const std::runtime_error&) {}
            EXPECT_EQ(l->available(), 2U);
            co_await l->acquire(2);  // the next one waits
        }
    }(v.env, borrowed(l))
                                                              .get();
}

}  // namespace
#endif
