// Where a reader of the memory finds what it knows of coroutines: one constant record, for the program itself, for
// debuggers and for programs outside, with or without debug information.
//
// The page docs/design/inspect.md has the reading. A change of what a field means raises `version`; new fields go to
// the end, and `size` says which are there.
#pragma once

#include <cstdint>

namespace coflux::detail {

struct debug_layout {
    char magic[8];  // "coflux" and two zeros
    std::uint32_t version;
    std::uint32_t size;

    // The registry of slabs: an array of `chunk_count` pointers to chunks, of which the first has `first_entries`, and
    // each other twice as many as the one before; a 64-bit word, so many entries have been used once.
    const void* chunks;
    const void* used_entries;
    std::uint32_t chunk_count;
    std::uint32_t first_entries;
    std::uint32_t class_bits;  // of an entry; the rest is a slab's address
    std::uint32_t free_class;  // of an entry that is free
    // A slab. A block of class c has (c + 1) * granule bytes; blocks end where the slab ends.
    std::uint32_t slab_bytes;
    std::uint32_t slab_untouched;  // 32 bits: no block begins before this offset yet
    std::uint32_t slab_entry;      // 32 bits: which entry it has
    std::uint32_t granule;
    // A block: it has a frame only if the 64-bit word at `mark` has one of `mark_bits`. With one of `word_counted` the
    // control is at the block's start; if the bits are `control_follows`, it is `control_size` bytes behind.
    std::uint32_t mark;
    std::uint32_t mark_bits;
    std::uint32_t control_follows;
    std::uint32_t control_size;  // the frame is behind the control: resume and destroy pointers, promise
    std::uint32_t promise;       // in the frame

    // The control.
    std::uint32_t join;   // a pointer and these bits:
    std::uint32_t place;  // a pointer to {file, function: pointers; line: 32 bits}, unless `has_error`
    std::uint32_t word;   // 32 bits, of which:
    std::uint32_t join_done;
    std::uint32_t join_detached;
    std::uint32_t join_list;
    std::uint32_t join_direct;
    std::uint32_t join_tags;
    std::uint32_t word_counted;  // 0 in no frame; all of them: a call
    std::uint32_t word_scope_open;
    std::uint32_t word_starts_inline;  // the join word has no value yet
    std::uint32_t word_has_error;
    std::uint32_t word_destroyed;

    // The promise begins as an environment.
    std::uint32_t parent;       // a pointer with tags
    std::uint32_t parent_tags;  //
    std::uint32_t children_by_owner;
    std::uint32_t children_atomic;
    std::int32_t no_children_by_owner;  // what is there where none is counted
    std::int32_t children_open;         // the same, of a scope that is not closed; where it is, 0
    std::uint32_t marks;                // 32 bits, of which:
    std::uint32_t mark_object;          // an environment object, no promise
    std::uint32_t mark_call;
    std::uint32_t mark_generator;
    std::uint32_t environment_size;
    // An environment object: the awaiter of its join(), or null; the promise in that awaiter.
    std::uint32_t object_joiner;
    std::uint32_t joiner_promise;

    // A waiter, at the end of a join pointer without `join_direct`.
    std::uint32_t waiter_next;
    std::uint32_t waiter_promise;
    std::uint32_t waiter_size;
    // A wait_operation, which is in the frame of the coroutine that waits: the promise, the kind behind it, the record
    // behind that, which is null where it does not wait.
    std::uint32_t wait_promise;
    std::uint32_t wait_kind;
    std::uint32_t wait_record;
    // A kind: functions; a string, or null where the operation only hears of a stop; the place of the awaited thing's
    // address in the operation, or 0.
    std::uint32_t kind_claim;
    std::uint32_t kind_stop;
    std::uint32_t kind_what;
    std::uint32_t kind_of_at;
    std::uint32_t kind_size;

    // The threads that serve executors: pointers to their states, or null.
    const void* threads;
    std::uint32_t thread_count;
    std::uint32_t thread_current;  // a pointer to an environment: that of the coroutine that runs, if it is known

    std::uint32_t waiter_alone;  // 8 bits, not 0: its coroutine waits for nothing else
    // A kind has besides, 64 bits each: the place in the operation of a pointer that is null once it was woken, or 0;
    // the place in the thing of a promise with `holder_tags`, or `no_holder`.
    std::uint32_t kind_queued_at;
    std::uint32_t kind_holder_at;
    std::uint32_t holder_tags;
    std::uint64_t no_holder;

    // An entry with all of `large_tag`: the rest is the address of a block's header. That has the block's size, 64
    // bits, where the block begins, and which entry it has.
    std::uint64_t large_tag;
    std::uint32_t large_bytes;
    std::uint32_t large_offset;
    std::uint32_t large_entry;
    std::uint32_t large_header;  // its size

    // Frames of other resources than the pool: the memory may stay when the coroutine has gone.
    std::uint32_t word_from_resource;
    std::uint32_t word_freed_at_once;  // nothing says whether the frame is in use
    // A record of waits, alone in a block of its size: the environment that it belongs to, which has `mark_has_waits`
    // and the record's address at `environment_record`; the first wait in it; in a wait the next.
    std::uint32_t record_size;
    std::uint32_t record_of;
    std::uint32_t record_waiting;
    std::uint32_t wait_next;
    std::uint32_t environment_record;
    std::uint32_t mark_has_waits;
    // A waiter without a promise, one of a wait for some of several: the child's control, and a pointer to the wait,
    // which begins with a pointer to the promise.
    std::uint32_t some_child;
    std::uint32_t some_of;
};

}  // namespace coflux::detail

extern "C" const coflux::detail::debug_layout coflux_debug_layout;
