"""The record `coflux_debug_layout` of a program: where what is in its memory. src/inspect/layout.hpp says what
each field means."""

from __future__ import annotations

import struct

SYMBOL = "coflux_debug_layout"
MAGIC = b"coflux\0\0"
VERSION = 1
PIECE = 64 * 1024

# Of the record, in its order: a format of struct, and names.
FIELDS = (
    ("8s", "magic"), ("I", "version size"), ("Q", "chunks used_entries"), ("I", "chunk_count first_entries class_bits free_class"),
    ("I", "slab_bytes slab_untouched slab_entry granule mark mark_bits control_follows control_size promise"),
    ("I", "join place word join_done join_detached join_list join_direct join_tags"),
    ("I", "word_counted word_scope_open word_starts_inline word_has_error word_destroyed"),
    ("I", "parent parent_tags children_by_owner children_atomic"), ("i", "no_children_by_owner children_open"),
    ("I", "marks mark_object mark_call mark_generator environment_size object_joiner joiner_promise"),
    ("I", "waiter_next waiter_promise waiter_size wait_promise wait_kind wait_record"),
    ("I", "kind_claim kind_stop kind_what kind_of_at kind_size"), ("Q", "threads"), ("I", "thread_count thread_current"),
    ("I", "waiter_alone kind_queued_at kind_holder_at holder_tags"), ("Q", "no_holder large_tag"),
    ("I", "large_bytes large_offset large_entry large_header word_from_resource word_freed_at_once"),
    ("I", "record_size record_of record_waiting wait_next environment_record mark_has_waits some_child some_of"),
)


class Unreadable(Exception):
    """What the user is told."""


class Layout:
    def __init__(self, record: bytes):
        at = 0
        for form, names in FIELDS:
            size = struct.calcsize(form)
            for name in names.split():
                at += -at % min(size, 8)
                setattr(self, name, struct.unpack_from("<" + form, record, at)[0])
                at += size


def record_size() -> int:
    return sum(struct.calcsize(form) * len(names.split()) for form, names in FIELDS) + 8


def layout_at(memory, address: int) -> Layout | None:
    record = memory.read(address, record_size())
    return Layout(record) if record and record.startswith(MAGIC) else None


def search(memory) -> Layout | None:
    """By the magic, in all data of the program and its libraries: a program that was stripped has no symbols."""
    for begin, end, is_code in memory.sections():
        if is_code:
            continue
        for start in range(begin, end, PIECE):
            piece = memory.read(start, min(PIECE, end - start)) or b""
            at = piece.find(MAGIC)
            while at != -1:
                # The string of the code that checks it, and that of this text, have no such size behind them.
                if start + at & 7 == 0 and (found := layout_at(memory, start + at)) and 200 < found.size < 4096:
                    return found
                at = piece.find(MAGIC, at + 1)
    return None


def find_layout(memory) -> Layout:
    address = memory.symbol(SYMBOL)
    found = layout_at(memory, address) if address else None
    found = found or search(memory)
    if not found:
        raise Unreadable("the program has no coflux_debug_layout: it does not use Coflux, or has not begun")
    if found.version != VERSION:
        raise Unreadable(f"the program's Coflux has version {found.version} of its layout, and these commands have {VERSION}")
    return found
