// How often a worker looks at its event source.
#include "../../../src/event/look_pace.hpp"

#include <gtest/gtest.h>

namespace {

using coflux::detail::look_pace;

TEST(look_pace, looks_at_once_where_there_is_no_work) {
    look_pace pace;
    pace.looked(1'000, 2'000);
    EXPECT_TRUE(pace.wants_a_look(2'000, false));
    EXPECT_FALSE(pace.wants_a_look(2'000, true));
}

TEST(look_pace, looks_beside_work_when_many_times_the_cost_of_a_look_have_passed) {
    look_pace pace;
    pace.looked(1'000, 2'000);
    EXPECT_FALSE(pace.wants_a_look(2'000 + 1'000 * look_pace::share - 1, true));
    EXPECT_TRUE(pace.wants_a_look(2'000 + 1'000 * look_pace::share, true));
}

TEST(look_pace, looks_within_a_bound_whatever_a_look_took) {
    look_pace pace;
    pace.looked(0, 1'000'000'000);  // the thread had no processor
    EXPECT_FALSE(pace.wants_a_look(1'000'000'000 + look_pace::longest - 1, true));
    EXPECT_TRUE(pace.wants_a_look(1'000'000'000 + look_pace::longest, true));
}

}  // namespace
