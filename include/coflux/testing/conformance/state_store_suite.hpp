// The laws of a state_store as a GoogleTest suite: INSTANTIATE_TYPED_TEST_SUITE_P(mine, state_store_conformance,
// my_maker);
#pragma once

#include <coflux/testing/conformance/state_store.hpp>
#include <coflux/testing/gtest.hpp>

namespace coflux::testing {

/// The suite; `Maker` is a default-constructible callable as state_store_laws wants it.
template <typename Maker>
class state_store_conformance : public ::testing::Test {};
TYPED_TEST_SUITE_P(state_store_conformance);

#define COFLUX_STATE_STORE_LAW(law)                      \
    TYPED_TEST_P(state_store_conformance, law) {         \
        expect_none(state_store_laws::law(TypeParam{})); \
    }
COFLUX_STATE_STORE_LAW(has_nothing_at_first)
COFLUX_STATE_STORE_LAW(loads_the_last_one)
COFLUX_STATE_STORE_LAW(loads_that_of_the_positions)
COFLUX_STATE_STORE_LAW(keeps_the_two_last)
COFLUX_STATE_STORE_LAW(forgets_what_is_behind)
COFLUX_STATE_STORE_LAW(keeps_the_one_before_through_a_failure)
COFLUX_STATE_STORE_LAW(keeps_the_one_before_through_a_stop)
COFLUX_STATE_STORE_LAW(refuses_that_of_another_job)
#undef COFLUX_STATE_STORE_LAW

REGISTER_TYPED_TEST_SUITE_P(state_store_conformance, has_nothing_at_first, loads_the_last_one,
                            loads_that_of_the_positions, keeps_the_two_last, forgets_what_is_behind,
                            keeps_the_one_before_through_a_failure, keeps_the_one_before_through_a_stop,
                            refuses_that_of_another_job);

}  // namespace coflux::testing
