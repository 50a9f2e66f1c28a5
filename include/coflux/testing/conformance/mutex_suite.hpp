// The laws of a mutex as a GoogleTest suite: INSTANTIATE_TYPED_TEST_SUITE_P(mine, mutex_conformance, my_maker);
#pragma once

#include <coflux/testing/conformance/mutex.hpp>
#include <coflux/testing/gtest.hpp>

namespace coflux::testing {

/// The suite; `Maker` is a default-constructible callable as mutex_laws wants it.
template <typename Maker>
class mutex_conformance : public ::testing::Test {};
TYPED_TEST_SUITE_P(mutex_conformance);

#define COFLUX_MUTEX_LAW(law)                      \
    TYPED_TEST_P(mutex_conformance, law) {         \
        expect_none(mutex_laws::law(TypeParam{})); \
    }
COFLUX_MUTEX_LAW(lets_in_one_at_a_time)
COFLUX_MUTEX_LAW(serves_in_the_order_of_asking)
COFLUX_MUTEX_LAW(runs_no_waiter_in_unlock)
COFLUX_MUTEX_LAW(tries_truly)
COFLUX_MUTEX_LAW(forgets_a_stopped_waiter)
COFLUX_MUTEX_LAW(keeps_threads_apart)
#undef COFLUX_MUTEX_LAW

REGISTER_TYPED_TEST_SUITE_P(mutex_conformance, lets_in_one_at_a_time, serves_in_the_order_of_asking,
                            runs_no_waiter_in_unlock, tries_truly, forgets_a_stopped_waiter, keeps_threads_apart);

}  // namespace coflux::testing
