// Where a coroutine frame and the words in front of it lie in one allocation.
#pragma once

#include <cstddef>
#include <new>

#include <coflux/base/config.hpp>

namespace coflux::detail {

/// A frame in a compiler's words: its size, and the alignment of the strictest of its locals and parameters.
struct frame_shape {
    std::size_t size;
    std::size_t alignment;
};

/// Shape of one allocation: [padding][prefix][frame]. The frame starts at `offset`, a multiple of `alignment`.
struct frame_layout {
    std::size_t bytes;
    std::size_t alignment;
    std::size_t offset;
};

inline constexpr std::size_t default_frame_alignment = 16;
/// A cache line, and the widest vector registers.
inline constexpr std::size_t largest_frame_alignment = 64;

/// Where the compiler gives operator new no alignment.
///
/// g++ rounds the size of a frame up to its alignment: the largest power of two that divides it, up to 64, is enough,
/// and costs a frame that did not need it some padding. clang does not; without -fcoro-aligned-allocation, which the
/// CMake target sets, every frame pays for the largest.
COFLUX_INLINE constexpr frame_shape guess_frame_shape(std::size_t size) noexcept {
    std::size_t alignment = COFLUX_ROUNDED_FRAMES ? default_frame_alignment : largest_frame_alignment;
    while (alignment < largest_frame_alignment && size % (2 * alignment) == 0) alignment *= 2;
    return {size, alignment};
}

/// Where the compiler gives operator new an alignment.
COFLUX_INLINE constexpr frame_shape frame_shape_of(std::size_t size, std::align_val_t alignment) noexcept {
    const auto given = static_cast<std::size_t>(alignment);
    return {size, given < default_frame_alignment ? default_frame_alignment : given};
}

COFLUX_INLINE constexpr frame_layout layout_of_frame(frame_shape frame, std::size_t prefix) noexcept {
    const std::size_t offset = (prefix + frame.alignment - 1) & ~(frame.alignment - 1);
    return {offset + frame.size, frame.alignment, offset};
}

static_assert(layout_of_frame({104, 16}, 32).offset == 32);
static_assert(layout_of_frame({192, 64}, 32).offset == 64);

}  // namespace coflux::detail
