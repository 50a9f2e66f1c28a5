#include <coflux/testing/fault_point.hpp>

#include <gtest/gtest.h>

namespace {

using coflux::testing::fault_point;
using coflux::testing::injected_fault;
namespace detail = coflux::testing::detail;

TEST(fault_point, does_nothing_by_itself) {
    for (int i = 0; i < 10; ++i) fault_point();
    EXPECT_FALSE(detail::fault_happened());
}

TEST(fault_point, throws_once_at_the_call_that_was_named) {
    detail::arm_fault(3);
    fault_point();
    fault_point();
    EXPECT_FALSE(detail::fault_happened());
    EXPECT_THROW(fault_point(), injected_fault);
    EXPECT_TRUE(detail::fault_happened());
    fault_point();
    detail::arm_fault(0);
    EXPECT_FALSE(detail::fault_happened());
}

}  // namespace
