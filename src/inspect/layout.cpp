#include "inspect/layout.hpp"

#include <cstddef>

#include <coflux/combine/detail/some_awaiter.hpp>
#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>
#include <coflux/core/environment_object.hpp>

#include "core/detail/thread/registered_thread.hpp"
#include "memory/detail/central_list.hpp"
#include "memory/detail/slab_registry.hpp"

namespace coflux::detail {

// The offsets are in classes with private members and bases, of which both compilers know them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

/// A friend of those that have what the record says.
struct layout_access {
    static constexpr debug_layout record() noexcept {
        using join = join_snapshot;
        using joiner = environment_object::join_awaiter;
        static_assert(offsetof(wait_operation, previous) == wait_operation::previous_at);
        constexpr auto counts = offsetof(environment, own_) + offsetof(own_counts, children);
        return {
            .magic = {'c', 'o', 'f', 'l', 'u', 'x', 0, 0},
            .version = 1,
            .size = sizeof(debug_layout),
            .chunks = &all_slabs.chunks,
            .used_entries = &all_slabs.used,
            .chunk_count = slab_registry::most_chunks,
            .first_entries = slab_registry::first_entries,
            .class_bits = slab_registry::class_bits,
            .free_class = slab_registry::free,
            .slab_bytes = slab_bytes,
            .slab_untouched = offsetof(slab, untouched),
            .slab_entry = offsetof(slab, entry),
            .granule = frame_cache::granule,
            .mark = offsetof(free_block, next),
            .mark_bits = frame_cache::granule - 1,
            .control_follows = control_follows,
            .control_size = sizeof(frame_control),
            .promise = 16,
            .join = offsetof(frame_control, join),
            .place = offsetof(frame_control, where),
            .word = offsetof(frame_control, word),
            .join_done = join::done_bit,
            .join_detached = join::detached_bit,
            .join_list = join::list_bit,
            .join_direct = join::direct_bit,
            .join_tags = join::tags,
            .word_counted = static_cast<std::uint32_t>(counting::none),
            .word_scope_open = frame_flags::scope_open,
            .word_starts_inline = frame_flags::inline_start,
            .word_has_error = frame_flags::has_error,
            .word_destroyed = frame_flags::destroyed,
            .parent = offsetof(environment, parent_),
            .parent_tags = 3,
            .children_by_owner = counts + offsetof(child_count, by_owner_),
            .children_atomic = counts + offsetof(child_count, atomic_),
            .no_children_by_owner = child_count::none_by_owner,
            .children_open = child_count::open,
            .marks = offsetof(environment, marks_),
            .mark_object = environment::is_object,
            .mark_call = environment::is_call,
            .mark_generator = environment::is_generator,
            .environment_size = sizeof(environment),
            .object_joiner = offsetof(environment_object, joiner_),
            .joiner_promise = offsetof(joiner, p_),
            .waiter_next = offsetof(waiter, next),
            .waiter_promise = offsetof(waiter, coroutine),
            .waiter_size = sizeof(waiter),
            .wait_promise = offsetof(wait_operation, coroutine_),
            .wait_kind = offsetof(wait_operation, kind_),
            .wait_record = offsetof(wait_operation, record_),
            .kind_claim = offsetof(wait_kind, claim),
            .kind_stop = offsetof(wait_kind, stop),
            .kind_what = offsetof(wait_kind, what),
            .kind_of_at = offsetof(wait_kind, of_at),
            .kind_size = sizeof(wait_kind),
            .threads = &registered_threads,
            .thread_count = most_registered_threads,
            .thread_current = offsetof(thread_state, current),
            .waiter_alone = offsetof(waiter, alone),
            .kind_queued_at = offsetof(wait_kind, queued_at),
            .kind_holder_at = offsetof(wait_kind, holder_at),
            .holder_tags = 3,
            .no_holder = wait_kind::no_holder,
            .large_tag = slab_registry::large,
            .large_bytes = offsetof(large_block, bytes),
            .large_offset = offsetof(large_block, offset),
            .large_entry = offsetof(large_block, entry),
            .large_header = sizeof(large_block),
            .word_from_resource = frame_flags::from_resource,
            .word_freed_at_once = frame_flags::freed_at_once,
            .record_size = sizeof(wait_record),
            .record_of = offsetof(wait_record, of),
            .record_waiting = offsetof(wait_record, waiting),
            .wait_next = offsetof(wait_operation, published_next_),
            .environment_record = offsetof(environment, waits_),
            .mark_has_waits = environment::has_waits,
            .some_child = offsetof(some_node, child),
            .some_of = offsetof(some_node, of),
        };
    }
};

#pragma GCC diagnostic pop

}  // namespace coflux::detail

extern "C" constinit const coflux::detail::debug_layout coflux_debug_layout = coflux::detail::layout_access::record();
