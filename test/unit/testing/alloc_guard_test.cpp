#include <coflux/testing/alloc_guard.hpp>

#include <memory_resource>
#include <stdexcept>

#include <gtest/gtest.h>

#include <coflux/memory/counting_resource.hpp>
#include <coflux/testing/failing_resource.hpp>

#include "support/failures.hpp"

namespace {

using coflux::testing::alloc_guard;
using coflux_test::reported_failures;

TEST(alloc_guard, is_content_with_the_count_that_was_said) {
    const reported_failures reported;
    coflux::counting_resource memory;
    {
        const alloc_guard one(memory, 1);
        memory.deallocate(memory.allocate(8), 8);
        EXPECT_EQ(one.count(), 1U);
    }
    EXPECT_TRUE(reported.messages().empty());
}

TEST(alloc_guard, reports_more_and_less) {
    const reported_failures reported;
    coflux::testing::failing_resource memory;
    {
        const alloc_guard none(memory);
        memory.deallocate(memory.allocate(8), 8);
    }
    { const alloc_guard two(memory, 2); }
    ASSERT_EQ(reported.messages().size(), 2U);
    EXPECT_EQ(reported.messages()[0], "the resource was asked for memory 1 times here, not 0");
    EXPECT_EQ(reported.messages()[1], "the resource was asked for memory 0 times here, not 2");
}

TEST(alloc_guard, with_a_limit_reports_only_more) {
    const reported_failures reported;
    coflux::counting_resource memory;
    {
        const auto limit = alloc_guard::at_most(memory, 1);
        memory.deallocate(memory.allocate(8), 8);
    }
    { const auto limit = alloc_guard::at_most(memory, 1); }
    EXPECT_TRUE(reported.messages().empty());
    {
        const auto limit = alloc_guard::at_most(memory, 1);
        memory.deallocate(memory.allocate(8), 8);
        memory.deallocate(memory.allocate(8), 8);
    }
    ASSERT_EQ(reported.messages().size(), 1U);
    EXPECT_EQ(reported.messages()[0], "the resource was asked for memory 2 times here, not at most 1");
}

TEST(alloc_guard, is_silent_when_an_exception_unwinds_it) {
    const reported_failures reported;
    coflux::counting_resource memory;
    try {
        const alloc_guard one(memory, 1);
        throw std::runtime_error("something else");
    } catch (const std::runtime_error&) {}
    EXPECT_TRUE(reported.messages().empty());
}

// The program of these tests does not replace operator new: test/unit/allocations has the tests of one that does.
TEST(alloc_guard, checks_no_operator_new_where_it_is_not_counted) {
    const reported_failures reported;
    EXPECT_FALSE(coflux::testing::counts_new());
    { const alloc_guard one(1); }
    EXPECT_TRUE(reported.messages().empty());
}

}  // namespace
