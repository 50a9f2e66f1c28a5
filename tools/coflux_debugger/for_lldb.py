"""`coflux …` in lldb. Load it with `command script import …/for_lldb.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import lldb

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from coflux_debugger import commands  # noqa: E402
from coflux_debugger.layout import Unreadable  # noqa: E402


class Memory:
    def __init__(self, target):
        self.target = target

    def read(self, address: int, size: int) -> bytes | None:
        """By the process, and else by the target: a core does not have what is in the program's file."""
        error = lldb.SBError()
        copy = self.target.GetProcess().ReadMemory(address, size, error)
        if not error.Success() or copy is None or len(copy) != size:
            error = lldb.SBError()
            copy = self.target.ReadMemory(lldb.SBAddress(address, self.target), size, error)
        return copy if error.Success() and copy is not None and len(copy) == size else None

    def symbol(self, name: str) -> int | None:
        for found in self.target.FindSymbols(name):
            address = found.symbol.GetStartAddress().GetLoadAddress(self.target)
            if address != lldb.LLDB_INVALID_ADDRESS:
                return address
        return None

    def sections(self) -> list[tuple[int, int, bool]]:
        found = []
        for module in self.target.module_iter():
            for section in module.section_iter():
                self.add_section(section, found)
        return found

    def add_section(self, section, found: list[tuple[int, int, bool]]) -> None:
        if section.GetNumSubSections() != 0:
            for i in range(section.GetNumSubSections()):
                self.add_section(section.GetSubSectionAtIndex(i), found)
            return
        begin = section.GetLoadAddress(self.target)
        if begin != lldb.LLDB_INVALID_ADDRESS and section.GetByteSize() != 0:
            is_code = bool(section.GetPermissions() & lldb.ePermissionsExecutable)
            found.append((begin, begin + section.GetByteSize(), is_code))


def coflux(debugger, line, result, _internal):
    target = debugger.GetSelectedTarget()

    def locals_of(coroutine, frame: int) -> list[str] | None:
        function = target.ResolveLoadAddress(coroutine.resume).GetFunction()
        if not function.IsValid():
            return None
        for variable in function.GetBlock().GetVariables(target, True, True, True):
            if variable.GetName() in ("frame_ptr", "__coro_frame"):
                kind = variable.GetType()
                kind = kind.GetPointeeType() if kind.IsPointerType() else kind
                whole = target.CreateValueFromAddress("frame", lldb.SBAddress(frame, target), kind)
                return commands.unique_locals((whole.GetChildAtIndex(i).GetName(), text_of(whole.GetChildAtIndex(i)))
                                              for i in range(whole.GetNumChildren()))
        return None

    try:
        for text in commands.run(Memory(target), line, locals_of):
            result.AppendMessage(text)
    except Unreadable as error:
        result.SetError(str(error).rstrip())


def text_of(value) -> str:
    return value.GetValue() or value.GetSummary() or value.GetTypeName() or ""


def __lldb_init_module(debugger, _internal):
    debugger.HandleCommand(f"command script add -o -f {__name__}.coflux -h 'The coroutines of the program.' coflux")
