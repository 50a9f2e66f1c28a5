// The laws of a codec and of a key as GoogleTest suites: INSTANTIATE_TYPED_TEST_SUITE_P(mine, codec_conformance,
// my_maker);
#pragma once

#include <coflux/testing/conformance/codec.hpp>
#include <coflux/testing/gtest.hpp>

namespace coflux::testing {

/// The suite; `Maker` is a default-constructible callable as codec_laws wants it.
template <typename Maker>
class codec_conformance : public ::testing::Test {};
TYPED_TEST_SUITE_P(codec_conformance);

#define COFLUX_CODEC_LAW(law)                      \
    TYPED_TEST_P(codec_conformance, law) {         \
        expect_none(codec_laws::law(TypeParam{})); \
    }
COFLUX_CODEC_LAW(reads_what_was_written)
COFLUX_CODEC_LAW(replaces_what_was_there)
COFLUX_CODEC_LAW(refuses_too_few_bytes)
COFLUX_CODEC_LAW(survives_changed_bytes)
#undef COFLUX_CODEC_LAW

REGISTER_TYPED_TEST_SUITE_P(codec_conformance, reads_what_was_written, replaces_what_was_there, refuses_too_few_bytes,
                            survives_changed_bytes);

/// The suite; `Maker` is a default-constructible callable as key_laws wants it.
template <typename Maker>
class key_conformance : public ::testing::Test {};
TYPED_TEST_SUITE_P(key_conformance);

#define COFLUX_KEY_LAW(law)                      \
    TYPED_TEST_P(key_conformance, law) {         \
        expect_none(key_laws::law(TypeParam{})); \
    }
COFLUX_KEY_LAW(is_equal_to_itself_alone)
COFLUX_KEY_LAW(has_one_hash)
COFLUX_KEY_LAW(spreads)
#undef COFLUX_KEY_LAW

REGISTER_TYPED_TEST_SUITE_P(key_conformance, is_equal_to_itself_alone, has_one_hash, spreads);

}  // namespace coflux::testing
