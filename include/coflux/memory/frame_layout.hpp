// Where a coroutine frame and the words in front of it lie in one allocation.
#pragma once

#include <cstddef>

#include <coflux/base/config.hpp>

namespace coflux::detail {

/// Shape of one allocation: [padding][prefix][frame]. The frame starts at `offset`, a multiple of `alignment`.
struct frame_layout {
    std::size_t bytes;
    std::size_t alignment;
    std::size_t offset;
};

inline constexpr std::size_t default_frame_alignment = 16;
/// A cache line, and the widest vector registers. Larger would be paid for by every frame whose size happens to be a
/// multiple of it.
inline constexpr std::size_t largest_frame_alignment = 64;

/// The layout of a frame of `size` bytes behind `prefix` bytes.
///
/// Neither compiler tells operator new how a frame is aligned, but the size of a type is a multiple of its
/// alignment: the
/// largest power of two that divides the size, up to 64, is therefore enough, and costs a frame that did not need it
/// some padding.
COFLUX_INLINE constexpr frame_layout layout_of_frame(std::size_t size, std::size_t prefix) noexcept {
    std::size_t alignment = size & (~size + 1);
    if (alignment < default_frame_alignment) alignment = default_frame_alignment;
    if (alignment > largest_frame_alignment) alignment = largest_frame_alignment;
    const std::size_t offset = (prefix + alignment - 1) & ~(alignment - 1);
    return {offset + size, alignment, offset};
}

static_assert(layout_of_frame(104, 32).offset == 32 && layout_of_frame(104, 32).alignment == 16);
static_assert(layout_of_frame(192, 32).offset == 64 && layout_of_frame(192, 32).alignment == 64);

}  // namespace coflux::detail
