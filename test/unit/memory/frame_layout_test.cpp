#include <coflux/memory/detail/frame_layout.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <new>

namespace {

using coflux::detail::frame_layout;
using coflux::detail::frame_shape_of;
using coflux::detail::guess_frame_shape;
using coflux::detail::layout_of_frame;

struct alignas(32) vector_register {
    char bytes[96];
};
struct alignas(64) line {
    char byte;
};

TEST(frame_layout, puts_the_frame_behind_its_prefix_at_an_aligned_offset_and_wastes_less_than_an_alignment) {
    for (const std::size_t prefix : {0U, 16U, 32U, 48U, 64U, 80U}) {
        for (const std::size_t alignment : {16U, 32U, 64U, 128U}) {
            for (std::size_t size = 1; size <= 4096; ++size) {
                const frame_layout layout = layout_of_frame({size, alignment}, prefix);
                ASSERT_EQ(layout.alignment, alignment);
                ASSERT_EQ(layout.offset % alignment, 0U) << "size " << size << ", prefix " << prefix;
                ASSERT_GE(layout.offset, prefix) << "size " << size;
                ASSERT_LT(layout.offset - prefix, alignment) << "size " << size << ", prefix " << prefix;
                ASSERT_EQ(layout.bytes, layout.offset + size) << "prefix " << prefix;
            }
        }
    }
}

TEST(frame_layout, takes_the_alignment_that_it_is_given_and_at_least_16) {
    for (const std::size_t alignment : {1U, 8U, 16U, 32U, 64U, 128U}) {
        const auto shape = frame_shape_of(200, std::align_val_t{alignment});
        EXPECT_EQ(shape.size, 200U);
        EXPECT_EQ(shape.alignment, alignment < 16 ? 16 : alignment);
    }
}

TEST(frame_layout, guesses_enough_for_a_frame_of_every_type_up_to_64_byte_alignment) {
    EXPECT_GE(guess_frame_shape(sizeof(vector_register)).alignment, alignof(vector_register));
    EXPECT_GE(guess_frame_shape(sizeof(line)).alignment, alignof(line));
    EXPECT_GE(guess_frame_shape(sizeof(std::max_align_t)).alignment, alignof(std::max_align_t));
    EXPECT_GE(guess_frame_shape(104).alignment, 16U);
}

}  // namespace
