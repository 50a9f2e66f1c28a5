#include <coflux/memory/frame_layout.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace {

using coflux::detail::frame_layout;
using coflux::detail::layout_of_frame;

TEST(frame_layout, puts_the_frame_behind_its_prefix_at_an_aligned_offset_and_wastes_less_than_an_alignment) {
    for (const std::size_t prefix : {0U, 16U, 32U, 48U, 64U, 80U}) {
        for (std::size_t size = 1; size <= 4096; ++size) {
            const frame_layout layout = layout_of_frame(size, prefix);
            ASSERT_EQ(layout.offset % layout.alignment, 0U) << "size " << size << ", prefix " << prefix;
            ASSERT_GE(layout.offset, prefix) << "size " << size;
            ASSERT_LT(layout.offset - prefix, layout.alignment) << "size " << size << ", prefix " << prefix;
            ASSERT_EQ(layout.bytes, layout.offset + size) << "prefix " << prefix;
        }
    }
}

TEST(frame_layout, aligns_by_what_divides_the_size_between_16_and_64) {
    for (std::size_t size = 1; size <= 4096; ++size) {
        const std::size_t expected = size % 64 == 0 ? 64 : size % 32 == 0 ? 32 : 16;
        ASSERT_EQ(layout_of_frame(size, 32).alignment, expected) << "size " << size;
    }
}

TEST(frame_layout, is_enough_for_every_type_up_to_64_byte_alignment) {
    struct alignas(32) vector_register {
        char bytes[96];
    };
    struct alignas(64) line {
        char byte;
    };
    EXPECT_GE(layout_of_frame(sizeof(vector_register), 32).alignment, alignof(vector_register));
    EXPECT_GE(layout_of_frame(sizeof(line), 32).alignment, alignof(line));
    EXPECT_GE(layout_of_frame(sizeof(std::max_align_t), 32).alignment, alignof(std::max_align_t));
}

}  // namespace
