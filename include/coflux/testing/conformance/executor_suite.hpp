// The laws of an executor as a GoogleTest suite: INSTANTIATE_TYPED_TEST_SUITE_P(mine, executor_conformance, my_maker);
#pragma once

#include <coflux/testing/conformance/executor.hpp>
#include <coflux/testing/conformance/violation.hpp>
#include <coflux/testing/gtest.hpp>

namespace coflux::testing {

/// The suite; `Maker` is a default-constructible callable as executor_laws wants it.
template <typename Maker>
class executor_conformance : public ::testing::Test {};
TYPED_TEST_SUITE_P(executor_conformance);

#define COFLUX_EXECUTOR_LAW(law)                      \
    TYPED_TEST_P(executor_conformance, law) {         \
        expect_none(executor_laws::law(TypeParam{})); \
    }
COFLUX_EXECUTOR_LAW(resumes_each_handle_once)
COFLUX_EXECUTOR_LAW(resumes_later_and_from_a_plain_stack)
COFLUX_EXECUTOR_LAW(shows_what_happened_before)
COFLUX_EXECUTOR_LAW(takes_handles_from_many_threads)
COFLUX_EXECUTOR_LAW(resumes_what_is_queued_when_it_dies)
COFLUX_EXECUTOR_LAW(waits_for_calls_when_it_dies)
COFLUX_EXECUTOR_LAW(is_told_apart_from_another)
COFLUX_EXECUTOR_LAW(runs_a_tree_of_coroutines)
COFLUX_EXECUTOR_LAW(lets_a_stop_reach_its_coroutines)
#undef COFLUX_EXECUTOR_LAW

REGISTER_TYPED_TEST_SUITE_P(executor_conformance, resumes_each_handle_once, resumes_later_and_from_a_plain_stack,
                            shows_what_happened_before, takes_handles_from_many_threads,
                            resumes_what_is_queued_when_it_dies, waits_for_calls_when_it_dies,
                            is_told_apart_from_another, runs_a_tree_of_coroutines, lets_a_stop_reach_its_coroutines);

}  // namespace coflux::testing
