// The laws of a sink as a GoogleTest suite: INSTANTIATE_TYPED_TEST_SUITE_P(mine, sink_conformance, my_maker);
#pragma once

#include <coflux/testing/conformance/sink.hpp>
#include <coflux/testing/gtest.hpp>

namespace coflux::testing {

/// The suite; `Maker` is a default-constructible callable as sink_laws wants it.
template <typename Maker>
class sink_conformance : public ::testing::Test {};
TYPED_TEST_SUITE_P(sink_conformance);

#define COFLUX_SINK_LAW(law)                      \
    TYPED_TEST_P(sink_conformance, law) {         \
        expect_none(sink_laws::law(TypeParam{})); \
    }
COFLUX_SINK_LAW(takes_each_record_once_and_in_order)
COFLUX_SINK_LAW(keeps_them_for_the_next_run)
COFLUX_SINK_LAW(takes_the_same_again_behind_a_failure)
COFLUX_SINK_LAW(loses_nothing_to_a_stop)
COFLUX_SINK_LAW(tells_the_positions_of_the_last_commit)
COFLUX_SINK_LAW(forgets_what_was_not_committed)
COFLUX_SINK_LAW(commits_as_a_whole)
#undef COFLUX_SINK_LAW

REGISTER_TYPED_TEST_SUITE_P(sink_conformance, takes_each_record_once_and_in_order, keeps_them_for_the_next_run,
                            takes_the_same_again_behind_a_failure, loses_nothing_to_a_stop,
                            tells_the_positions_of_the_last_commit, forgets_what_was_not_committed, commits_as_a_whole);

}  // namespace coflux::testing
