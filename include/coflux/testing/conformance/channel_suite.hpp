// The laws of a channel as a GoogleTest suite: INSTANTIATE_TYPED_TEST_SUITE_P(mine, channel_conformance, my_maker);
#pragma once

#include <coflux/testing/conformance/channel.hpp>
#include <coflux/testing/gtest.hpp>

namespace coflux::testing {

/// The suite; `Maker` is a default-constructible callable as channel_laws wants it.
template <typename Maker>
class channel_conformance : public ::testing::Test {};
TYPED_TEST_SUITE_P(channel_conformance);

#define COFLUX_CHANNEL_LAW(law)                      \
    TYPED_TEST_P(channel_conformance, law) {         \
        expect_none(channel_laws::law(TypeParam{})); \
    }
COFLUX_CHANNEL_LAW(delivers_in_order)
COFLUX_CHANNEL_LAW(makes_senders_wait_for_a_place)
COFLUX_CHANNEL_LAW(makes_receivers_wait_for_a_value)
COFLUX_CHANNEL_LAW(keeps_what_was_sent_before_the_close)
COFLUX_CHANNEL_LAW(wakes_receivers_by_the_close)
COFLUX_CHANNEL_LAW(refuses_after_the_close)
COFLUX_CHANNEL_LAW(takes_nothing_when_stopped)
COFLUX_CHANNEL_LAW(sends_nothing_when_stopped)
COFLUX_CHANNEL_LAW(loses_nothing_between_threads)
#undef COFLUX_CHANNEL_LAW

REGISTER_TYPED_TEST_SUITE_P(channel_conformance, delivers_in_order, makes_senders_wait_for_a_place,
                            makes_receivers_wait_for_a_value, keeps_what_was_sent_before_the_close,
                            wakes_receivers_by_the_close, refuses_after_the_close, takes_nothing_when_stopped,
                            sends_nothing_when_stopped, loses_nothing_between_threads);

}  // namespace coflux::testing
