#include <coflux/testing/failing_resource.hpp>

#include <memory_resource>
#include <new>

#include <gtest/gtest.h>

#include "support/failures.hpp"

namespace {

using coflux::testing::failing_resource;
using coflux_test::reported_failures;

TEST(failing_resource, fails_the_allocation_that_was_named_and_no_other) {
    failing_resource memory;
    memory.fail_at(2);
    void* const first = memory.allocate(8);
    EXPECT_THROW((void)memory.allocate(8), std::bad_alloc);
    void* const third = memory.allocate(8);
    EXPECT_EQ(memory.failures(), 1U);
    EXPECT_EQ(memory.requests(), 3U);
    EXPECT_EQ(memory.allocations(), 2U);
    memory.deallocate(first, 8);
    memory.deallocate(third, 8);
    EXPECT_EQ(memory.live(), 0U);
}

TEST(failing_resource, fails_all_from_one_on_until_it_is_set_otherwise) {
    failing_resource memory;
    memory.fail_from(1);
    EXPECT_THROW((void)memory.allocate(8), std::bad_alloc);
    EXPECT_THROW((void)memory.allocate(8), std::bad_alloc);
    EXPECT_EQ(memory.failures(), 2U);
    memory.fail_at(0);
    EXPECT_EQ(memory.failures(), 0U);
    memory.deallocate(memory.allocate(8), 8);
}

TEST(failing_resource, names_what_is_left) {
    failing_resource memory;
    EXPECT_EQ(memory.leaks(), "");
    void* const first = memory.allocate(8);
    void* const second = memory.allocate(24);
    EXPECT_EQ(memory.live(), 2U);
    memory.deallocate(first, 8);
    EXPECT_EQ(memory.leaks(), "1 block: 24 bytes of request 2");
    memory.deallocate(second, 24);
    EXPECT_EQ(memory.leaks(), "");
}

TEST(failing_resource, reports_a_block_that_is_given_back_otherwise_than_it_was_taken) {
    const reported_failures reported;
    failing_resource memory;
    void* const block = memory.allocate(8, 8);
    memory.deallocate(block, 16, 8);
    int no_block = 0;
    memory.deallocate(&no_block, sizeof no_block);
    ASSERT_EQ(reported.messages().size(), 2U);
    EXPECT_EQ(reported.messages()[0],
              "the block of request 1, 8 bytes aligned to 8, was given back as 16 bytes aligned to 8");
    EXPECT_EQ(reported.messages()[1], "a block of 4 bytes was given back that is not out");
}

}  // namespace
