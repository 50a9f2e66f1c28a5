// An await that is completed and never resumed from, as g++ leaves those of an expression whose first await throws
// (COFLUX_LATE_RESULTS): what it took goes back.
#include <coflux/time/rate_limiter.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

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
using words = coflux::delay_queue<std::string>;

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

TEST(left_pop, gives_back_what_it_took) {
    virtual_time v;
    words q;
    [](coflux::environment&, borrowed<words> q) -> sim_task {
        for (int i = 0; i != 2; ++i) {
            EXPECT_TRUE(q->push("value", std::chrono::milliseconds(i)));  // at once, and after a wait
            try {
                (void)co_await coflux_test::left(q->pop());
                ADD_FAILURE() << "it was left";
            } catch (const std::runtime_error&) {}
            EXPECT_EQ(q->try_pop(), std::optional<std::string>("value"));
        }
    }(v.env, borrowed(q))
                                                       .get();
}

}  // namespace
#endif
