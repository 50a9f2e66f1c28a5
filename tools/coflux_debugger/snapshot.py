"""All coroutines of a program that stands still, or of a core: what src/inspect/snapshot.cpp does, on the
memory of another.

The memory is anything with
    read(address, size)  the bytes, or None where all of them cannot be read
    symbol(name)         an address, or None
    sections()           (begin, end, is_code) of each section of the program and its libraries that is in memory
The page docs/design/inspect.md has the steps.
"""

from __future__ import annotations

import bisect
import gc
import struct

from .layout import Unreadable, find_layout
from .names import readable_name

MOST_BYTES = 65535 * 16  # of a frame
MOST_LINKS = 1000  # of a list or a chain in memory that may be damaged


class Coroutine:
    __slots__ = ("id", "place", "kind", "of", "join", "parent", "above", "children", "bytes", "state", "is_call", "resume", "valid",
                 "is_stale", "holder", "is_pooled")


class Place:
    def __init__(self, function: str, file: str, line: int):
        self.function, self.file, self.line = readable_name(function), file, line

    def __str__(self):
        return f"{self.function} at {self.file}:{self.line}"


class Snapshot:
    """`all`: by address, with memory that looks like a coroutine and is none, as its parents show. `coroutines`: those that are
    some. `awaiters`: of each that is awaited, those that do. `joined`: of each that joins, those that it waits for."""

    def __init__(self, memory):
        self.memory = memory
        self.at = find_layout(memory)
        self.parts = sorted(memory.sections())
        self.begins = [part[0] for part in self.parts]
        self.what, self.places, self.kinds, self.objects = {}, {}, {}, {}
        self.all, self.awaiters, self.joined, self.slabs, self.large = {}, {}, {}, {}, {}
        self.seen_parents = set()
        # A million objects that all stay: the collector would walk them again and again.
        collects = gc.isenabled()
        gc.disable()
        try:
            self.list_slabs()
            for address in sorted(self.slabs):
                if self.slabs[address][0] != self.at.record_size:
                    self.find_in(address)
            for address in sorted(self.large):
                self.find_in_large(address)
            self.large_begins = sorted(self.large)
            self.find_others()
            self.resolve_waits()
            self.resolve_calls()
            self.resolve_parents()
            self.resolve_holders()
            self.find_running()
            self.coroutines = {i: c for i, c in self.all.items() if c.valid}
        finally:
            if collects:
                gc.enable()

    # --- memory ------------------------------------------------------------------------------------------------------

    def word(self, address: int, form: str = "<Q") -> int | None:
        copy = self.memory.read(address, struct.calcsize(form))
        return struct.unpack(form, copy)[0] if copy else None

    def text(self, address: int) -> str:
        """Up to its end; by pieces that lie in one page each."""
        found = b""
        while len(found) < 1023:
            piece = self.memory.read(address, 64 - address % 64)
            if not piece:
                break
            found += piece.split(b"\0")[0]
            if b"\0" in piece:
                break
            address += len(piece)
        text = found.decode("utf-8", "replace")
        return text if text.isprintable() else ""

    def is_part(self, address: int) -> bool | None:
        """True: code. False: data. None: neither."""
        found = self.what.get(address, self)
        if found is self:
            i = bisect.bisect_right(self.begins, address) - 1
            found = self.what[address] = self.parts[i][2] if i >= 0 and address < self.parts[i][1] else None
        return found

    def is_code(self, address: int) -> bool:
        return self.is_part(address) is True

    def is_data(self, address: int) -> bool:
        return self.is_part(address) is False

    # --- the steps ---------------------------------------------------------------------------------------------------

    def list_slabs(self) -> None:
        at = self.at
        used = self.word(at.used_entries)
        if used is None:
            raise Unreadable("the memory of the program cannot be read")
        for number in range(at.chunk_count):
            if used <= 0:
                break
            count = min(used, at.first_entries << number)
            chunk = self.word(at.chunks + 8 * number)
            entries = self.memory.read(chunk, 8 * count) if chunk else None
            for index, entry in enumerate(struct.unpack(f"<{count}Q", entries) if entries else ()):
                size_class = entry & at.class_bits
                if entry & at.large_tag == at.large_tag:
                    self.list_large(entry & ~at.large_tag, index + (at.first_entries << number) - at.first_entries)
                    continue
                if entry and size_class != at.free_class:
                    self.slabs[entry & ~at.class_bits] = (size_class + 1) * at.granule, index + (at.first_entries << number) - at.first_entries
            used -= count

    def list_large(self, header: int, index: int) -> None:
        """A block that is in no slab."""
        at = self.at
        copy = self.memory.read(header, at.large_header)
        if copy and struct.unpack_from("<I", copy, at.large_entry)[0] == index:
            size = min(struct.unpack_from("<Q", copy, at.large_bytes)[0], MOST_BYTES) & ~15
            self.large[header + struct.unpack_from("<I", copy, at.large_offset)[0]] = size

    def find_in_large(self, block: int) -> None:
        at = self.at
        size = self.large[block]
        copy = self.memory.read(block, size)
        if copy and size >= at.control_size + at.promise + at.environment_size:
            self.find_in_block(block, 0, copy, struct.unpack_from(f"<{size // 8}Q", copy), size)

    def find_in(self, slab: int) -> None:
        at = self.at
        size, index = self.slabs[slab]
        copy = self.memory.read(slab, at.slab_bytes)
        # A core without those pages, or a slab that the program was about to enter or leave.
        if not copy or struct.unpack_from("<I", copy, at.slab_entry)[0] != index:
            return
        words = struct.unpack_from(f"<{at.slab_bytes // 8}Q", copy)
        untouched = struct.unpack_from("<I", copy, at.slab_untouched)[0]
        first = at.slab_bytes % size
        if first < untouched:
            first += -(-(untouched - first) // size) * size
        for block in range(first, at.slab_bytes - size + 1, size):
            self.find_in_block(slab, block, copy, words, size)

    def find_in_block(self, slab: int, block: int, copy: bytes, words: tuple, size: int) -> None:
        at = self.at
        mark = words[(block + at.mark) // 8] & at.mark_bits
        if mark & at.word_counted:
            control = block
        elif mark == at.control_follows:
            control = block + at.control_size
        else:
            return
        frame = control + at.control_size
        if frame + at.promise + at.environment_size > block + size:
            return
        # A chunk of an arena, whose first frame may have gone.
        if struct.unpack_from("<I", copy, control + at.word)[0] & at.word_freed_at_once:
            return
        if self.is_frame(words, frame):
            c = self.add(slab, control, copy, words, size)
            if c.state == "ready":
                self.find_wait(c, copy, slab, frame + at.promise, block + size)

    def is_frame(self, words: tuple, frame: int) -> bool:
        resume = words[frame // 8]
        return self.is_code(words[frame // 8 + 1]) and (not resume or self.is_code(resume))

    def add(self, slab: int, control: int, copy: bytes, words: tuple, size: int) -> Coroutine:
        at = self.at
        frame = control + at.control_size
        environment = frame + at.promise
        word = words[(control + at.word) // 8] >> 8 * ((control + at.word) % 8)
        c = Coroutine()
        c.id = slab + control
        c.bytes = size
        c.resume = words[frame // 8]
        c.place = 0 if word & at.word_has_error else words[(control + at.place) // 8]
        if c.place and not self.is_data(c.place):
            c.place = 0  # a result, while parameters die
        c.join = 0 if word & at.word_starts_inline else words[(control + at.join) // 8]
        c.parent = words[(environment + at.parent) // 8] & ~at.parent_tags
        c.kind = c.of = 0
        c.above = c.holder = None
        c.children, closed = self.children_of(copy, environment) if word & at.word_scope_open else (0, False)
        c.is_call = word & at.word_counted == at.word_counted
        c.is_pooled = not word & at.word_from_resource
        is_generator = struct.unpack_from("<I", copy, environment + at.marks)[0] & at.mark_generator
        c.is_stale = c.is_call and not is_generator  # its join word has a value once it has begun
        c.valid = False
        self.all[c.id] = c
        if not c.resume:
            c.state = "joins" if closed and c.children else "ended"
        elif c.is_call and c.join == at.join_detached:
            c.state, c.place = "unawaited", 0  # it has no place yet
        elif c.join == 0 and is_generator:
            c.state = "generator"
        else:
            c.state = "ready"
        return c

    def children_of(self, copy: bytes, environment: int) -> tuple[int, bool]:
        """How many, and whether the owner waits for them."""
        at = self.at
        atomic = struct.unpack_from("<i", copy, environment + at.children_atomic)[0]
        if atomic < int(at.children_open / 2):
            return max(atomic, 0), True
        by_owner = struct.unpack_from("<i", copy, environment + at.children_by_owner)[0] - at.no_children_by_owner
        return max(by_owner + atomic - at.children_open, 0), False

    def find_wait(self, c: Coroutine, copy: bytes, slab: int, environment: int, end: int) -> None:
        """A wait is in the frame of its coroutine, whose promise it names."""
        at = self.at
        promise = struct.pack("<Q", slab + environment)
        last = end - (at.wait_record - at.wait_promise)
        position = copy.find(promise, environment + at.environment_size, last)
        while position != -1:
            if position % 8 == 0:
                if self.take_wait(c, copy, position - at.wait_promise, end):
                    return
                # Others resume it by a proxy: two equal functions in front of the promise.
                functions = struct.unpack_from("<QQ", copy, position - 16)
                if functions[0] == functions[1] and self.is_code(functions[0]):
                    c.state = "foreign"
            position = copy.find(promise, position + 1, last)

    def take_wait(self, c: Coroutine, copy: bytes, operation: int, end: int) -> bool:
        """Whether it waits in the operation."""
        at = self.at
        kind, record = (struct.unpack_from("<Q", copy, operation + place)[0] for place in (at.wait_kind, at.wait_record))
        known = self.kind(kind) if record and self.is_data(kind) else None
        if not known or known[2] and struct.unpack_from("<Q", copy, operation + known[2])[0] == 0:  # it was woken
            return False
        c.state, c.kind = "waits", kind
        thing = operation + known[1]
        c.of = struct.unpack_from("<Q", copy, thing)[0] if known[1] and thing + 8 <= end else 0
        return True

    # --- those of other resources than the pool: from what refers to them ----------------------------------------------

    def find_others(self) -> None:
        at = self.at
        pooled = set(self.all)
        for slab in sorted(s for s, (size, _) in self.slabs.items() if size == at.record_size):
            copy = self.memory.read(slab, at.slab_bytes)
            if copy and struct.unpack_from("<I", copy, at.slab_entry)[0] == self.slabs[slab][1]:
                for block in range(at.slab_bytes % at.record_size, at.slab_bytes, at.record_size):
                    self.look_at_record(slab + block, copy[block:block + at.record_size])
        for block, size in self.large.items():
            copy = self.memory.read(block, size) if size == at.record_size else None
            if copy:
                self.look_at_record(block, copy)
        left = list(self.all.values())
        while left:
            before = len(self.all)
            for c in left:
                self.follow(c)
            left = list(self.all.values())[before:]  # in the order of their entry
        for i, c in self.all.items():
            if i not in pooled and c.state == "ready":
                c.state = "foreign"  # or that

    def look_at_record(self, address: int, record: bytes) -> None:
        """It is one if its environment says so."""
        at = self.at
        of = struct.unpack_from("<Q", record, at.record_of)[0]
        waiting = struct.unpack_from("<Q", record, at.record_waiting)[0]
        if not of or of % 8:
            return
        known = self.of_environment(of)
        if known.is_pooled if known else not waiting and self.find_around(of) is not None:
            return
        copy = self.memory.read(of, at.environment_size)
        if not copy or struct.unpack_from("<Q", copy, at.environment_record)[0] != address:
            return
        marks = struct.unpack_from("<I", copy, at.marks)[0]
        if not marks & at.mark_has_waits:
            return
        if not marks & at.mark_object:
            self.know(of)
        while waiting:
            copy = self.memory.read(waiting, at.wait_next + 8)
            if not copy or struct.unpack_from("<Q", copy, at.wait_record)[0] != address:
                return
            c = self.know(struct.unpack_from("<Q", copy, at.wait_promise)[0])
            if c and c.state == "ready" and not c.is_pooled:
                self.take_other_wait(c, waiting, copy)
            waiting = struct.unpack_from("<Q", copy, at.wait_next)[0]

    def take_other_wait(self, c: Coroutine, operation: int, copy: bytes) -> None:
        known = self.kind(struct.unpack_from("<Q", copy, self.at.wait_kind)[0])
        size = max(self.at.wait_record, known[1]) + 8 if known else 0
        whole = self.memory.read(operation, size) if size else None
        if whole:
            self.take_wait(c, whole, 0, size)

    def follow(self, c: Coroutine) -> None:
        """Those that await it, and those above it."""
        at = self.at
        self.follow_parent(c.parent)
        if c.state == "ended" or c.is_stale and c.state not in ("waits", "joins"):
            return
        pointer = c.join & ~at.join_tags
        if c.join & at.join_direct:
            # A caller that awaits has begun, too, and so has its own.
            caller = self.know(pointer)
            for _ in range(len(self.all)):
                if not caller or not caller.is_stale or not caller.join & at.join_direct:
                    break
                caller = self.know(caller.join & ~at.join_tags)
            return
        for _ in range(MOST_LINKS):
            if not pointer:
                break
            promise = self.promise_of_waiter(pointer, c)
            if promise and self.find_around(pointer) is None:
                self.know(promise)
            pointer = self.word(pointer + at.waiter_next) if c.join & at.join_list else None

    def follow_parent(self, parent: int) -> None:
        at = self.at
        while parent and parent not in self.seen_parents and self.of_environment(parent) is None:
            self.seen_parents.add(parent)
            copy = self.memory.read(parent, at.environment_size) if parent % 8 == 0 else None
            if not copy:
                return
            if not struct.unpack_from("<I", copy, at.marks)[0] & at.mark_object:
                self.know(parent)
                return
            joiner = self.word(parent + at.object_joiner)
            promise = self.word(joiner + at.joiner_promise) if joiner else None
            if promise:
                self.know(promise)
            parent = struct.unpack_from("<Q", copy, at.parent)[0] & ~at.parent_tags

    def know(self, promise: int) -> Coroutine | None:
        """The coroutine, which is entered if it is not known yet."""
        at = self.at
        if not promise or promise % 8:
            return None
        known = self.of_environment(promise)
        if known:
            return known
        control = promise - at.promise - at.control_size
        size = at.control_size + at.promise + at.environment_size
        copy = self.memory.read(control, size)
        if not copy:
            return None
        words = struct.unpack_from(f"<{size // 8}Q", copy)
        is_object = struct.unpack_from("<I", copy, at.control_size + at.promise + at.marks)[0] & at.mark_object
        is_counted = struct.unpack_from("<I", copy, at.word)[0] & at.word_counted
        if is_object or not is_counted or not self.is_frame(words, at.control_size):
            return None
        return self.add(control, 0, copy, words, 0)

    def promise_of_waiter(self, waiter: int, child: Coroutine) -> int | None:
        at = self.at
        promise = self.word(waiter + at.waiter_promise)
        if promise == 0 and self.word(waiter + at.some_child) == child.id:  # of a wait for some of several
            of = self.word(waiter + at.some_of)
            promise = self.word(of) if of else None
        return promise

    # --- what they wait for --------------------------------------------------------------------------------------------

    def kind(self, address: int) -> tuple[str, int, int, int] | None:
        """What one of this kind waits for, where its operation has the address of that, where it has what is null once it was
        woken, and where the thing has its holder; None: it is no kind."""
        if address not in self.kinds:
            at = self.at
            copy = self.memory.read(address, at.kind_size)
            known = None
            if copy:
                claim, stop, what, *places = (
                    struct.unpack_from("<Q", copy, place)[0]
                    for place in (at.kind_claim, at.kind_stop, at.kind_what, at.kind_of_at, at.kind_queued_at, at.kind_holder_at))
                if self.is_code(claim) and (not stop or self.is_code(stop)) and what and self.is_data(what):
                    known = self.text(what), *places
            self.kinds[address] = known
        return self.kinds[address]

    def resolve_waits(self) -> None:
        at = self.at
        for c in self.all.values():
            pointer = c.join & ~at.join_tags
            if c.is_stale:
                if c.state in ("waits", "joins"):
                    self.begun(c)
                continue
            if not pointer or c.state == "ended":  # that has woken what awaited it
                continue
            if c.join & at.join_direct:
                self.awaits(self.of_environment(pointer), c)
            elif not c.join & at.join_list:
                self.awaits(self.awaiting(pointer, c), c)
            else:
                for _ in range(MOST_LINKS):
                    self.awaits(self.awaiting(pointer, c), c)
                    pointer = self.word(pointer + at.waiter_next)
                    if not pointer:
                        break

    def awaits(self, awaiter: Coroutine | None, child: Coroutine) -> None:
        if awaiter is None or awaiter is child or awaiter.state in ("ended", "joins"):
            return
        is_new = awaiter.state != "awaits"
        if is_new:
            awaiter.state, awaiter.kind, awaiter.of = "awaits", 0, child.id
        awaiter.kind += 1
        self.awaiters.setdefault(child.id, []).append(awaiter.id)
        if is_new:
            self.begun(awaiter)

    def begun(self, c: Coroutine) -> None:
        """A call that waits has begun: its join word has its caller, which awaits it."""
        if c.is_stale:
            c.is_stale = False
            self.awaits(self.caller(c), c)

    def caller(self, c: Coroutine) -> Coroutine | None:
        return self.of_environment(c.join & ~self.at.join_tags) if c.join & self.at.join_direct else None

    def resolve_calls(self) -> None:
        """Calls that are suspended in nothing that is known: they have begun if they have a caller that may wait for them."""
        for c in self.all.values():
            if c.is_stale and c.state in ("ready", "foreign"):
                caller = self.caller(c)
                if caller is not None and caller is not c and caller.state in ("ready", "foreign"):
                    self.begun(c)
                else:
                    c.state, c.place = "unawaited", 0

    def resolve_holders(self) -> None:
        for c in self.all.values():
            holder_at = self.kinds[c.kind][3] if c.state == "waits" and c.of else self.at.no_holder
            word = self.word(c.of + holder_at) if holder_at != self.at.no_holder else None
            holder = self.of_environment(word & ~self.at.holder_tags) if word else None
            c.holder = holder.id if holder else None

    def needs(self, c: Coroutine) -> list[Coroutine]:
        """Those without which it does not go on, whatever happens else, but for a stop."""
        if c.state == "waits" and c.holder is not None:
            return [self.all[c.holder]]
        if c.state == "awaits" and c.kind == 1 and self.awaits_alone(c):
            return [self.all[c.of]]
        return self.joined.get(c.id, []) if c.state == "joins" else []

    def awaits_alone(self, c: Coroutine) -> bool:
        at = self.at
        join = self.all[c.of].join
        pointer = join & ~at.join_tags
        if join & at.join_direct:
            return True
        for _ in range(MOST_LINKS):
            if not pointer:
                break
            if self.awaiting(pointer, self.all[c.of]) is c:
                return bool(self.word(pointer + at.waiter_alone, "<B"))
            pointer = self.word(pointer + at.waiter_next) if join & at.join_list else None
        return False

    def awaiting(self, waiter: int, child: Coroutine) -> Coroutine | None:
        around = self.find_around(waiter)
        if around is None:
            promise = self.promise_of_waiter(waiter, child)
            around = self.of_environment(promise) if promise else None
        return around

    def find_around(self, address: int) -> Coroutine | None:
        at = self.at
        slab = address & ~(at.slab_bytes - 1)
        if slab not in self.slabs:
            i = bisect.bisect_right(self.large_begins, address) - 1
            block = self.large_begins[i] if i >= 0 else 0
            if not block or address >= block + self.large[block]:
                return None
            return self.all.get(block) or self.all.get(block + at.control_size)
        size = self.slabs[slab][0]
        end = slab + at.slab_bytes
        block = end - -(-(end - address) // size) * size
        return self.all.get(block) or self.all.get(block + at.control_size)

    def of_environment(self, address: int) -> Coroutine | None:
        return self.all.get(address - self.at.promise - self.at.control_size)

    def resolve_parents(self) -> None:
        known = {}
        for c in self.all.values():
            if c.parent == 0:  # a call that was given no environment, and has not begun
                c.valid = c.state == "unawaited"
                continue
            if c.parent not in known:
                parent = self.of_environment(c.parent)
                joins = parent is not None and parent.state == "joins" and not parent.resume
                known[c.parent] = (True, parent.id, parent if joins else None) if parent else self.object(c.parent)
            c.valid, c.above, joiner = known[c.parent]
            if joiner and not c.is_call and c.state != "ended":
                self.joined.setdefault(joiner.id, []).append(c)

    def object(self, address: int) -> tuple[bool, int | None, Coroutine | None]:
        """Whether there is an environment object, the coroutine above it, and the one that joins it."""
        at = self.at
        following = address
        joiner = None
        for _ in range(MOST_LINKS):
            copy = self.memory.read(following, at.environment_size) if following % 8 == 0 else None
            if not copy or not struct.unpack_from("<I", copy, at.marks)[0] & at.mark_object:
                break
            if following == address:
                joiner = self.note_joiner(address, copy)
            following = struct.unpack_from("<Q", copy, at.parent)[0] & ~at.parent_tags
            above = self.of_environment(following) if following else None
            if above or not following:
                return True, above.id if above else None, joiner
        return False, None, None

    def note_joiner(self, address: int, copy: bytes) -> Coroutine | None:
        joiner = self.word(address + self.at.object_joiner)
        promise = self.word(joiner + self.at.joiner_promise) if joiner else None
        c = self.of_environment(promise) if promise else None
        children, closed = self.children_of(copy, 0)
        if c and closed and children and c.state != "ended":
            c.state, c.children = "joins", children
            return c
        return None

    def find_running(self) -> None:
        at = self.at
        threads = self.memory.read(at.threads, 8 * at.thread_count)
        for number, thread in enumerate(struct.unpack(f"<{at.thread_count}Q", threads) if threads else ()):
            current = self.word(thread + at.thread_current) if thread else None
            c = self.of_environment(current) if current else None
            if c and c.state == "ready":
                c.state, c.of = "running", number

    # --- text --------------------------------------------------------------------------------------------------------

    def place(self, c: Coroutine) -> Place | None:
        if c.place not in self.places:
            found = None
            copy = self.memory.read(c.place, 20) if c.place else None
            if copy:
                file, function, line = struct.unpack("<QQI", copy)
                if self.is_data(file) and self.is_data(function):
                    file, function = self.text(file), self.text(function)
                    found = Place(function, file, line) if file and function and line else None
            self.places[c.place] = found
        return self.places[c.place]

    def where(self, c: Coroutine) -> str:
        return str(self.place(c) or "a coroutine whose place is not known")

    def state(self, c: Coroutine, of_one: bool = True) -> str:
        """`of_one`: not of several, which have other things or workers."""
        if c.state == "waits":
            address = f" at {c.of:#x}" if c.of and of_one else ""
            holder = f", held by {self.where(self.all[c.holder])}" if c.holder is not None else ""
            return f"waits for {self.kinds[c.kind][0] or 'something'}{address}{holder}"
        if c.state == "awaits":
            return f"awaits {self.where(self.all[c.of])}" if c.kind == 1 else f"awaits {c.kind} coroutines"
        return {
            "ready": "is queued, or runs",
            "running": f"runs on worker {c.of}" if of_one else "runs on a worker",
            "joins": f"waits for the ends of its children, {c.children}",
            "ended": "has ended; its result is not taken yet",
            "foreign": "in something foreign, queued, or runs",
            "generator": "a generator between two elements",
            "unawaited": "was made, and is not awaited yet",
        }[c.state]
