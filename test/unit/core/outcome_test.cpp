#include <coflux/core/outcome.hpp>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include "support/witness.hpp"

namespace {

using coflux::outcome;
using coflux_test::move_only;

TEST(outcome, is_a_value) {
    outcome<std::string> o(std::in_place, 3U, 'a');
    EXPECT_TRUE(o.has_value());
    EXPECT_TRUE(static_cast<bool>(o));
    EXPECT_FALSE(o.has_error());
    EXPECT_FALSE(o.is_stopped());
    EXPECT_EQ(std::move(o).value(), "aaa");
}

TEST(outcome, is_an_error) {
    outcome<std::string> o(std::make_exception_ptr(std::runtime_error("error")));
    EXPECT_FALSE(o.has_value());
    EXPECT_FALSE(static_cast<bool>(o));
    EXPECT_TRUE(o.has_error());
    EXPECT_FALSE(o.is_stopped());
    EXPECT_NE(o.error(), nullptr);
    EXPECT_THROW((void)std::move(o).value(), std::runtime_error);
}

TEST(outcome, is_a_stop) {
    const outcome<std::string> o = coflux::stopped;
    EXPECT_FALSE(o.has_value());
    EXPECT_FALSE(static_cast<bool>(o));
    EXPECT_FALSE(o.has_error());
    EXPECT_TRUE(o.is_stopped());
}

TEST(outcome, of_void_has_a_value_without_content) {
    outcome<void> o(std::in_place);
    EXPECT_TRUE(o.has_value());
    EXPECT_NO_THROW(std::move(o).value());
}

TEST(outcome, of_a_reference_refers) {
    int x = 1;
    outcome<int&> o(std::in_place, &x);
    EXPECT_EQ(&std::move(o).value(), &x);
}

TEST(outcome, of_a_reference_to_an_rvalue_lets_it_be_moved_from) {
    move_only x(7);
    outcome<move_only&&> o(std::in_place, &x);
    const move_only taken = std::move(o).value();
    EXPECT_EQ(*taken.value, 7);
    EXPECT_EQ(x.value, nullptr);
}

TEST(outcome, moves_its_value_out) {
    outcome<move_only> o(std::in_place, move_only(7));
    const move_only taken = std::move(o).value();
    EXPECT_EQ(*taken.value, 7);
}

TEST(outcome, shows_its_value_and_keeps_it) {
    const outcome<std::string> o(std::in_place, "text");
    EXPECT_EQ(o.value(), "text");
    EXPECT_EQ(*o, "text");
    EXPECT_EQ(&o.value(), &*o);
    static_assert(std::is_same_v<decltype(o.value()), const std::string&>);
    static_assert(std::is_same_v<decltype(*o), const std::string&>);

    int x = 1;
    const outcome<int&> refers(std::in_place, &x);
    refers.value() = 2;
    *refers += 1;
    EXPECT_EQ(x, 3);

    const outcome<void> nothing(std::in_place);
    nothing.value();

    const outcome<int> failed(std::make_exception_ptr(std::runtime_error("failed")));
    EXPECT_THROW((void)failed.value(), std::runtime_error);
    const outcome<int> stopped{coflux::stopped};
    EXPECT_THROW((void)stopped.value(), coflux::task_stopped);
}

TEST(outcome, gives_its_value_away_by_a_star) {
    outcome<std::unique_ptr<int>> o(std::in_place, std::make_unique<int>(7));
    const std::unique_ptr<int> taken = *std::move(o);
    EXPECT_EQ(*taken, 7);
}

TEST(outcome, throws_for_the_value_of_a_stop) {
    outcome<int> o = coflux::stopped;
    EXPECT_THROW((void)std::move(o).value(), coflux::task_stopped);
}

void takes_the_error_of_a_value() {
    const outcome<int> o(std::in_place, 1);
    (void)o.error();
}

TEST(outcome_death, asked_for_what_is_not_there_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(takes_the_error_of_a_value(), "error\\(\\) of an outcome that has none");
    const outcome<int> none{coflux::stopped};
    EXPECT_DEATH((void)*none, "operator\\* of an outcome that has no value");
}

}  // namespace
