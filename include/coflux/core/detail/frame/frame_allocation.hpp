// operator new and delete of every coroutine: memory from the environment's resource, control words in front of the
// frame.
#pragma once

#include <cstddef>
#include <new>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/frame/frame_control.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/memory/detail/frame_layout.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux::detail {

// These give nullptr where the resource threw, and keep what it threw for rethrow_allocation_failure(). By value: the
// target of a reference is on the stack, and clang 19 with AddressSanitizer at -O1 takes the later looks at it
// for uses after its scope.
COFLUX_ASIDE void* try_allocate_from_resource(std::size_t bytes, std::size_t alignment,
                                              const environment& parent) noexcept;
COFLUX_ASIDE void* try_allocate_shared_frame(frame_shape shape, environment& parent, std::uint32_t flags) noexcept;
[[noreturn]] COFLUX_COLD void rethrow_allocation_failure();

COFLUX_INLINE void* control_in(void* base, std::size_t offset) noexcept {
    return static_cast<char*>(base) + offset - sizeof(frame_control);
}

template <bool EndsTrivially>
COFLUX_INLINE void* allocate_pooled_frame(frame_shape shape, counting counted, std::uint32_t flags) {
    const frame_layout layout = layout_of_frame(shape, sizeof(frame_control));
    void* const base = allocate_pooled(layout.bytes, layout.alignment);
    if (EndsTrivially && !COFLUX_ASAN && layout.offset == sizeof(frame_control)) {
        // A block without a list in the pool is destroyed: only its deallocate() knows where the block came from.
        const std::size_t size_class = frame_class(layout.bytes, layout.alignment);
        if (size_class < frame_cache::classes) flags |= frame_word::freed_as(size_class);
    }
    return ::new (control_in(base, layout.offset)) frame_control(nullptr, counted, flags) + 1;
}

/// Memory for a frame behind its control, counted as `counted` by its parent. Throws what the resource throws,
/// before any effect.
template <bool EndsTrivially = false>
COFLUX_INLINE void* allocate_frame(frame_shape shape, const environment& parent, counting counted,
                                   std::uint32_t flags = 0) {
    if (data_ref_of(parent).pooled()) [[likely]]
        return allocate_pooled_frame<EndsTrivially>(shape, counted, flags);
    const frame_layout layout = layout_of_frame(shape, sizeof(frame_control));
    void* const base = try_allocate_from_resource(layout.bytes, layout.alignment, parent);
    if (base == nullptr) [[unlikely]]
        rethrow_allocation_failure();
    const environment_data& data = data_of(parent);  // only now: nothing of it is kept in a register across the call
    return ::new (control_in(base, layout.offset)) frame_control(data.frames, counted, flags | data.frames_flags) + 1;
}

/// Allocates for a child that another coroutine than its parent creates, or that is made in an environment object.
COFLUX_INLINE void* allocate_shared_frame(frame_shape shape, environment& parent, std::uint32_t flags) {
    void* const frame = try_allocate_shared_frame(shape, parent, flags);
    if (frame == nullptr) [[unlikely]]
        rethrow_allocation_failure();
    return frame;
}

/// Allocates for a coroutine that learns its maker when it is queued; until then it is its parent's own.
template <bool EndsTrivially>
COFLUX_INLINE void* allocate_queued_frame(frame_shape shape, environment& parent) {
    const data_ref& data = data_ref_of(parent);
    if (data.is_usual()) [[likely]]
        return allocate_pooled_frame<EndsTrivially>(shape, counting::by_owner, 0);
    return data.is_of_object() ? allocate_shared_frame(shape, parent, 0)
                               : allocate_frame<EndsTrivially>(shape, parent, counting::by_owner);
}

/// Frames with an error, a list entry, or a control that must survive.
COFLUX_NOINLINE void deallocate_special_frame(void* frame, frame_shape shape) noexcept;
/// A call out of line: a caller that only calls in the end needs no stack frame on the way there.
COFLUX_NOINLINE void deallocate_to(std::pmr::memory_resource& frames, void* base, std::size_t bytes,
                                   std::size_t alignment) noexcept;

COFLUX_INLINE void deallocate_frame(void* frame, frame_shape shape) noexcept {
    frame_control& control = frame_control::of(frame);
    constexpr std::uint32_t special = frame_flags::retain | frame_flags::listed | frame_flags::has_error;
    const frame_layout layout = layout_of_frame(shape, sizeof(frame_control));
    if (!control.word.has(special | frame_flags::from_resource)) [[likely]]
        return deallocate_pooled(static_cast<char*>(frame) - layout.offset, layout.bytes, layout.alignment);
    if (control.word.has(special)) [[unlikely]]
        return deallocate_special_frame(frame, shape);
    if (control.word.has(frame_flags::freed_at_once)) return;
    deallocate_to(*control.resource, static_cast<char*>(frame) - layout.offset, layout.bytes, layout.alignment);
}

}  // namespace coflux::detail
