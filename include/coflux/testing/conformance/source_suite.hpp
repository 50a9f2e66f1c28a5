// The laws of a source as a GoogleTest suite: INSTANTIATE_TYPED_TEST_SUITE_P(mine, source_conformance, my_maker);
#pragma once

#include <coflux/testing/conformance/source.hpp>
#include <coflux/testing/gtest.hpp>

namespace coflux::testing {

/// The suite; `Maker` is a default-constructible callable as source_laws wants it.
template <typename Maker>
class source_conformance : public ::testing::Test {};
TYPED_TEST_SUITE_P(source_conformance);

#define COFLUX_SOURCE_LAW(law)                      \
    TYPED_TEST_P(source_conformance, law) {         \
        expect_none(source_laws::law(TypeParam{})); \
    }
COFLUX_SOURCE_LAW(gives_each_record_once_and_in_order)
COFLUX_SOURCE_LAW(gives_rising_positions)
COFLUX_SOURCE_LAW(loses_nothing_to_a_stop)
COFLUX_SOURCE_LAW(puts_nothing_when_it_throws)
COFLUX_SOURCE_LAW(goes_on_behind_each_position)
COFLUX_SOURCE_LAW(seeks_only_what_is_named)
COFLUX_SOURCE_LAW(refuses_an_unknown_partition)
COFLUX_SOURCE_LAW(begins_again)
COFLUX_SOURCE_LAW(goes_on_behind_a_commit)
COFLUX_SOURCE_LAW(commits_beside_a_read)
COFLUX_SOURCE_LAW(knows_its_partitions)
COFLUX_SOURCE_LAW(measures_what_is_left)
COFLUX_SOURCE_LAW(keeps_originals_where_asked)
#undef COFLUX_SOURCE_LAW

REGISTER_TYPED_TEST_SUITE_P(source_conformance, gives_each_record_once_and_in_order, gives_rising_positions,
                            loses_nothing_to_a_stop, puts_nothing_when_it_throws, goes_on_behind_each_position,
                            seeks_only_what_is_named, refuses_an_unknown_partition, begins_again,
                            goes_on_behind_a_commit, commits_beside_a_read, knows_its_partitions, measures_what_is_left,
                            keeps_originals_where_asked);

}  // namespace coflux::testing
