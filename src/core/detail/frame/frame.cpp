// The rare steps of a join word, frames from resources, and frames that are listed or outlived by their control.
#include <coflux/core/detail/frame/frame.hpp>

#include <bit>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "core/detail/scope/environment_tree.hpp"

namespace coflux::detail {

join_snapshot join_state::begin_callbacks() noexcept {
    // release publishes the result: pairs with has_ended(); acquire: what is in the list is visible, and suspended.
    // [join.callbacks.begin]
    return join_snapshot(word_.exchange(bits::in_callbacks, memory_order_acq_rel));
}

waiter* join_state::end_callbacks() noexcept {
    // release: what the callbacks did is visible to the awaiters: pairs with done(), await(); acquire as above.
    // [join.callbacks.end]
    return join_snapshot(word_.exchange(bits::list_bit | bits::done_bit, memory_order_acq_rel)).youngest();
}

/// A callback that comes when the coroutine has ended is its maker's to call.
join_result join_state::await_in_list(waiter& w) noexcept {
    // [join.await_in_list.looks]
    join_snapshot s(word_.load(memory_order_acquire));  // pairs with the two exchanges above
    // [join.await_in_list.ended]
    while (!(w.first ? s.has_ended() : s.done())) {
        w.next = s.youngest();
        // release: the end sees the waiter; acquire: if the coroutine has ended, its result is visible.
        // [join.await_in_list.adds]
        if (word_.compare_exchange_weak(s.word_, reinterpret_cast<std::uintptr_t>(&w) | (s.word_ & bits::tags),
                                        memory_order_acq_rel, memory_order_acquire))
            return join_result::registered;
    }
    return join_result::completed;
}

handle_end join_state::detach() noexcept {
    // [join.drop.looks]
    std::uintptr_t s = word_.load(memory_order_acquire);  // pairs with the CAS of end()
    if ((s & bits::list_bit) != 0) return handle_end::shared;
    if ((s & bits::nested_bits) == bits::direct_bit) return handle_end::untaken;
    if ((s & bits::done_bit) == 0) {
        // acq_rel: either the end sees `detached` and frees, or we see `done` and all it wrote, and free.
        // [join.drop.marks]
        s = word_.fetch_or(bits::detached_bit, memory_order_acq_rel);
        // [join.drop.runs]
        if ((s & bits::done_bit) == 0) return handle_end::runs;
    }
    return handle_end::ended;
}

void join_state::share_ended(atomic_ref<std::uint32_t> references, std::uint32_t extra) noexcept {
    references.store(1 + extra, memory_order_relaxed);  // pairs with nothing: only the handle can reach the frame
    // [join.share.ended]
    word_.fetch_or(bits::list_bit, memory_order_release);  // pairs with the loads of the threads that share the handle
}

void join_state::share_running(atomic_ref<std::uint32_t> references, std::uint32_t extra) noexcept {
    references.store(2 + extra, memory_order_relaxed);  // published by the fetch_or
    // acq_rel pairs with the CAS of end().
    // [join.share.runs]
    const std::uintptr_t s = word_.fetch_or(bits::list_bit, memory_order_acq_rel);
    // [join.share.counts]
    if ((s & bits::done_bit) != 0) references.fetch_sub(1, memory_order_relaxed);  // it ended without seeing the list
}

void join_state::stand_if_awaited_by(const promise_base& consumer) noexcept {
    std::uintptr_t runs_for = plain_await_of(&consumer);
    (void)word_.compare_exchange_strong(runs_for, 0, memory_order_relaxed, memory_order_relaxed);
}

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
    ::new (reinterpret_cast<root_links*>(control) - 1) root_links;
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
    const std::uint64_t result = thread_result();  // the frame's own, if it frees itself
    frames.deallocate(base, bytes, alignment);
    thread_result() = result;
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
