// Frames from resources, and frames that are listed or outlived by their control.
#include <coflux/core/detail/frame/frame_allocation.hpp>

#include <bit>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "core/detail/scope/environment_tree.hpp"

namespace coflux::detail {

/// The exception of the resource for the last frame that this thread could not have.
COFLUX_SHARED inline thread_local std::exception_ptr allocation_failure;

namespace {

void* new_shared_frame(frame_shape shape, environment& parent, std::uint32_t flags) {
    const environment_data& data = data_of(parent);
    if (!environment_tree::is_object(parent)) return allocate_frame(shape, parent, counting::atomic, flags);
    const frame_layout layout = layout_of_frame(shape, sizeof(root_links) + sizeof(frame_control));
    void* const base = data.frames == nullptr ? allocate_pooled(layout.bytes, layout.alignment)
                                              : data.frames->allocate(layout.bytes, layout.alignment);
    auto* const control = ::new (control_in(base, layout.offset))
        frame_control(data.frames, counting::atomic, flags | data.frames_flags | frame_flags::listed);
    control->where = std::source_location();  // the listing of the living may ask before its first await
    ::new (reinterpret_cast<root_links*>(control) - 1) root_links{};
    return control + 1;
}

}  // namespace

void* try_allocate_from_resource(std::size_t bytes, std::size_t alignment, const environment& parent) noexcept {
    try {
        return data_of(parent).frames->allocate(bytes, alignment);
    } catch (...) {
        allocation_failure = std::current_exception();
        return nullptr;
    }
}

void deallocate_to(std::pmr::memory_resource& frames, void* base, std::size_t bytes, std::size_t alignment) noexcept {
    const std::uint64_t result = thread_result;  // the frame's own, if it frees itself
    frames.deallocate(base, bytes, alignment);
    thread_result = result;
}

void* try_allocate_shared_frame(frame_shape shape, environment& parent, std::uint32_t flags) noexcept {
    try {
        return new_shared_frame(shape, parent, flags);
    } catch (...) {
        allocation_failure = std::current_exception();
        return nullptr;
    }
}

void rethrow_allocation_failure() {
    std::rethrow_exception(std::exchange(allocation_failure, nullptr));
}

namespace {

void free_memory(frame_control& c, frame_shape shape) noexcept {
    if (c.word.has(frame_flags::has_error)) c.error->release();
    const std::size_t prefix = sizeof(frame_control) + (c.word.has(frame_flags::listed) ? sizeof(root_links) : 0);
    const frame_layout layout = layout_of_frame(shape, prefix);
    std::pmr::memory_resource* const frames = c.word.has(frame_flags::from_resource) ? c.resource : nullptr;
    void* const base = static_cast<char*>(c.frame().address()) - layout.offset;
    if (frames == nullptr) {
        deallocate_pooled(base, layout.bytes, layout.alignment);
    } else {
        frames->deallocate(base, layout.bytes, layout.alignment);
    }
}

/// The shape of a frame that is gone is where its pointer to destroy() was: all of its environment stays, for the
/// holder of a handle that saw it running (request_stop(), the end of a task's handle) and for children that its locals
/// made while they died.
static_assert(sizeof(std::size_t) <= sizeof(void*));
constexpr unsigned size_shift = 8;

void keep_shape(void* frame, frame_shape shape) noexcept {
    const std::size_t word = shape.size << size_shift | static_cast<std::size_t>(std::countr_zero(shape.alignment));
    std::memcpy(static_cast<void**>(frame) + 1, &word, sizeof word);
}
frame_shape kept_shape(void* frame) noexcept {
    std::size_t word = 0;
    std::memcpy(&word, static_cast<void**>(frame) + 1, sizeof word);
    return {word >> size_shift, std::size_t{1} << (word & ((1U << size_shift) - 1))};
}

}  // namespace

void deallocate_special_frame(void* frame, frame_shape shape) noexcept {
    frame_control& c = frame_control::of(frame);
    if (c.word.has(frame_flags::retain)) {
        c.word.clear(frame_flags::retain);
        c.word.set(frame_flags::destroyed);
        *static_cast<void**>(frame) = nullptr;  // done()
        keep_shape(frame, shape);
        return;
    }
    free_memory(c, shape);
}

void promise_base::free_ended(frame_control& c) noexcept {
    free_memory(c, kept_shape(&c + 1));
}

}  // namespace coflux::detail
