"""`coflux …` in gdb. Load it with `source …/for_gdb.py`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import gdb

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from coflux_debugger import commands  # noqa: E402
from coflux_debugger.layout import Unreadable  # noqa: E402

SECTION = re.compile(r"^\s*(0x[0-9a-f]+) - (0x[0-9a-f]+) is (\.\S+)", re.MULTILINE)
CODE = re.compile(r"\.(text|plt|init|fini)($|\.)")


class Memory:
    def read(self, address: int, size: int) -> bytes | None:
        try:
            return bytes(gdb.selected_inferior().read_memory(address, size))
        except (gdb.MemoryError, OverflowError):
            return None

    def symbol(self, name: str) -> int | None:
        try:
            return int(gdb.parse_and_eval(f"(unsigned long)&{name}"))
        except gdb.error:
            return None

    def sections(self) -> list[tuple[int, int, bool]]:
        listed = SECTION.findall(gdb.execute("info files", to_string=True))
        return [(int(begin, 16), int(end, 16), CODE.match(name) is not None) for begin, end, name in listed if int(begin, 16)]


def frame_type(resume: int) -> gdb.Type | None:
    """Of the frame that this function resumes: g++ has it as its parameter's type, clang as that of a variable."""
    try:
        block = gdb.block_for_pc(resume)
    except RuntimeError:
        return None
    while block is not None and not block.is_global:
        for symbol in block:
            if symbol.name in ("frame_ptr", "__coro_frame"):
                found = symbol.type.strip_typedefs()
                return found.target() if found.code == gdb.TYPE_CODE_PTR else found
        block = block.superblock
    return None


def locals_of(coroutine, frame: int) -> list[str] | None:
    kind = frame_type(coroutine.resume)
    if kind is None:
        return None
    value = gdb.Value(frame).cast(kind.pointer()).dereference()
    return commands.unique_locals((field.name, text_of(value, field)) for field in kind.fields())


def text_of(value: gdb.Value, field: gdb.Field) -> str:
    try:
        return value[field].format_string(max_elements=16, max_depth=2, pretty_structs=False, static_members=False)
    except (gdb.error, TypeError) as error:
        return f"<{error}>"


class Coflux(gdb.Command):
    def __init__(self):
        super().__init__("coflux", gdb.COMMAND_STATUS)

    def invoke(self, argument, _from_terminal):
        try:
            for line in commands.run(Memory(), argument, locals_of):
                gdb.write(line + "\n")
        except Unreadable as error:
            raise gdb.GdbError(str(error).rstrip()) from None

    def complete(self, text, _word):
        return [name for name in commands.COMMANDS if name.startswith(text)]


Coflux.__doc__ = "The coroutines of the program.\n\n" + commands.USAGE
Coflux()
