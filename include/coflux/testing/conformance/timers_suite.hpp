// The laws of sleeps as a GoogleTest suite: INSTANTIATE_TYPED_TEST_SUITE_P(mine, timer_conformance, my_maker);
#pragma once

#include <coflux/testing/conformance/timers.hpp>
#include <coflux/testing/gtest.hpp>

namespace coflux::testing {

/// The suite; `Maker` is a default-constructible callable as executor_laws wants it.
template <typename Maker>
class timer_conformance : public ::testing::Test {};
TYPED_TEST_SUITE_P(timer_conformance);

#define COFLUX_TIMER_LAW(law)                      \
    TYPED_TEST_P(timer_conformance, law) {         \
        expect_none(timer_laws::law(TypeParam{})); \
    }
COFLUX_TIMER_LAW(is_never_early)
COFLUX_TIMER_LAW(ends_a_sleep_by_a_stop)
COFLUX_TIMER_LAW(ends_a_sleep_by_a_timeout)
#undef COFLUX_TIMER_LAW

REGISTER_TYPED_TEST_SUITE_P(timer_conformance, is_never_early, ends_a_sleep_by_a_stop, ends_a_sleep_by_a_timeout);

}  // namespace coflux::testing
