#include <coflux/testing/report.hpp>

#include <source_location>
#include <string>

#include <gtest/gtest.h>

#include "support/failures.hpp"

namespace {

using coflux_test::reported_failures;

TEST(test_report, hands_the_message_and_the_place_to_the_framework) {
    const reported_failures reported;
    const std::source_location here = std::source_location::current();
    coflux::testing::report_failure("broken", here);
    ASSERT_EQ(reported.messages().size(), 1U);
    EXPECT_EQ(reported.messages()[0], "broken");
    EXPECT_EQ(reported.lines()[0], here.line());
}

TEST(test_report_death, without_a_framework_a_failure_ends_the_process) {
    EXPECT_DEATH(
        {
            coflux::testing::use_test_framework({});
            coflux::testing::report_failure("broken");
        },
        "coflux: broken");
}

TEST(test_report, without_a_framework_no_test_has_failed) {
    const coflux::testing::test_framework before = coflux::testing::use_test_framework({});
    EXPECT_FALSE(coflux::testing::test_has_failed());
    coflux::testing::use_test_framework(before);
}

}  // namespace
