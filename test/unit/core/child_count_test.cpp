#include <coflux/core/detail/scope/child_count.hpp>

#include <gtest/gtest.h>

namespace {

using coflux::detail::child_added;
using coflux::detail::child_count;
using coflux::detail::children_left;

constexpr int folded_at = 1 << 20;

TEST(child_count, of_a_new_scope_has_none) {
    child_count children;
    EXPECT_TRUE(children.is_open());
    EXPECT_FALSE(children.is_joined());
    EXPECT_FALSE(children.has_any());
    EXPECT_FALSE(children.may_have_any());
    EXPECT_EQ(children.close(), children_left::none);
    EXPECT_FALSE(children.is_open());
    EXPECT_TRUE(children.is_joined());
}

TEST(child_count, says_which_release_of_a_closed_scope_is_the_last) {
    child_count children;
    children.add_by_owner();
    EXPECT_EQ(children.add_atomically(), child_added::counted);
    EXPECT_TRUE(children.has_any());
    EXPECT_TRUE(children.may_have_any());
    EXPECT_EQ(children.close(), children_left::some);
    EXPECT_FALSE(children.is_open());
    EXPECT_FALSE(children.is_joined());
    EXPECT_EQ(children.release(), children_left::some);
    EXPECT_EQ(children.release(), children_left::none);
    EXPECT_TRUE(children.is_joined());
}

TEST(child_count, of_an_open_scope_has_no_last_release) {
    child_count children;
    children.add_by_owner();
    EXPECT_EQ(children.release(), children_left::some);
    EXPECT_FALSE(children.has_any());
    EXPECT_TRUE(children.may_have_any()) << "counted in one count, released in the other";
    EXPECT_EQ(children.close(), children_left::none);
}

TEST(child_count, is_the_owners_while_it_awaits_its_child) {
    child_count children;
    children.add_by_owner();
    children.release_by_owner();
    EXPECT_FALSE(children.may_have_any());
    EXPECT_EQ(children.close(), children_left::none);
}

TEST(child_count, of_a_closed_scope_takes_what_a_child_adds) {
    child_count children;
    children.add_by_owner();
    EXPECT_EQ(children.close(), children_left::some);
    EXPECT_EQ(children.add_atomically(), child_added::counted);
    EXPECT_EQ(children.release(), children_left::some);
    EXPECT_EQ(children.release(), children_left::none);
}

TEST(child_count, is_too_late_for_a_scope_that_is_joined_or_gone) {
    child_count joined;
    EXPECT_EQ(joined.close(), children_left::none);
    EXPECT_EQ(joined.add_atomically(), child_added::too_late);
    child_count gone;
    gone.end();
    EXPECT_EQ(gone.add_atomically(), child_added::too_late);
}

TEST(child_count, of_a_scope_that_is_not_joined_takes_one_that_nothing_keeps_there) {
    child_count open;
    EXPECT_TRUE(open.try_add_atomically());
    EXPECT_EQ(open.close(), children_left::some);
    EXPECT_TRUE(open.try_add_atomically()) << "closed, and one is left";
    EXPECT_EQ(open.release(), children_left::some);
    EXPECT_EQ(open.release(), children_left::none);
    EXPECT_FALSE(open.try_add_atomically());
    EXPECT_TRUE(open.is_joined()) << "as it was";
}

TEST(child_count, of_a_scope_that_is_open_again_begins_anew) {
    child_count children;
    children.add_by_owner();
    EXPECT_EQ(children.close(), children_left::some);
    EXPECT_EQ(children.release(), children_left::none);
    children.reopen();
    EXPECT_TRUE(children.is_open());
    EXPECT_FALSE(children.may_have_any());
    EXPECT_EQ(children.add_atomically(), child_added::counted);
    EXPECT_EQ(children.close(), children_left::some);
    EXPECT_EQ(children.release(), children_left::none);
}

TEST(child_count, stays_right_where_an_owner_counts_for_years) {
    child_count children;
    for (int i = 0; i < 3 * folded_at; ++i) {
        children.add_by_owner();
        ASSERT_EQ(children.release(), children_left::some);
    }
    EXPECT_FALSE(children.has_any());
    for (int i = 0; i < folded_at + 7; ++i) children.add_by_owner();
    for (int i = 0; i < folded_at; ++i) children.release_by_owner();
    EXPECT_TRUE(children.has_any());
    EXPECT_EQ(children.close(), children_left::some);
    for (int i = 0; i < 6; ++i) ASSERT_EQ(children.release(), children_left::some);
    EXPECT_EQ(children.release(), children_left::none);
}

TEST(child_count, begins_with_the_word_in_front_of_it) {
    coflux::detail::own_counts own(7);
    EXPECT_EQ(own.stops_seen.own(), 7U);
    EXPECT_FALSE(own.children.may_have_any());
    EXPECT_TRUE(own.children.is_open());
}

}  // namespace
