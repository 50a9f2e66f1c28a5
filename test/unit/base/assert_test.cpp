#include <coflux/base/assert.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <string>

namespace {

TEST(verify, lets_a_true_condition_pass_and_looks_at_it_once) {
    int looks = 0;
    int formatted = 0;
    COFLUX_VERIFY(++looks == 1, "looked at %d times", ++formatted);
    EXPECT_EQ(looks, 1);
    EXPECT_EQ(formatted, 0);
}

TEST(verify, is_one_statement) {
    bool other = false;
    if (other)
        COFLUX_VERIFY(false, "not reached");
    else
        other = true;
    EXPECT_TRUE(other);
}

TEST(verify, prints_message_expression_and_place_and_aborts) {
    const int pages = 3;
    EXPECT_EXIT(COFLUX_VERIFY(pages == 4, "%d pages, not %s", pages, "four"), ::testing::KilledBySignal(SIGABRT),
                "coflux: 3 pages, not four\n +check failed: pages == 4\n +at .*assert_test.cpp:[0-9]+");
}

TEST(verify, cuts_a_message_that_is_too_long) {
    const std::string longer(5000, 'x');
    EXPECT_DEATH(COFLUX_VERIFY(false, "%s", longer.c_str()), "coflux: x{1000,1020}\n +check failed");
}

void print_handled(const char* message) noexcept {
    std::fprintf(stderr, "handled <%s>\n", message);
}
void print_context() noexcept {
    std::fprintf(stderr, "in context\n");
}

TEST(set_assertion_handler, returns_the_handler_before) {
    EXPECT_EQ(coflux::set_assertion_handler(&print_handled), nullptr);
    EXPECT_EQ(coflux::set_assertion_handler(nullptr), &print_handled);
    EXPECT_EQ(coflux::set_assertion_handler(nullptr), nullptr);
}

void fail_with_handler() {
    coflux::set_assertion_handler(&print_handled);
    COFLUX_VERIFY(false, "number %d", 7);
}

TEST(set_assertion_handler, gets_the_message_before_the_process_aborts) {
    EXPECT_EXIT(fail_with_handler(), ::testing::KilledBySignal(SIGABRT),
                "check failed(.|\n)*handled <coflux: number 7>");
}

void fail_with_context() {
    coflux::set_assertion_handler(&print_handled);
    coflux::detail::set_failure_context(&print_context);
    COFLUX_VERIFY(false, "seven");
}

TEST(set_failure_context, adds_its_lines_between_message_and_handler) {
    EXPECT_DEATH(fail_with_context(), "coflux: seven(.|\n)*in context\nhandled <coflux: seven>");
}

}  // namespace
