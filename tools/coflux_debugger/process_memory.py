"""The memory of a process that runs, by its number: nothing is run in it, and it is not stopped."""

from __future__ import annotations

import os
import re

from .layout import Unreadable

MAPPED = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+) *(.*)")


class ProcessMemory:
    def __init__(self, pid: int):
        self.pid = pid
        try:
            self.file = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise Unreadable(f"there is no process {pid}") from None
        except PermissionError:
            raise Unreadable(f"the memory of process {pid} may not be read: be its user, and see kernel.yama.ptrace_scope, or ask its "
                             "inspector (--url, --socket)") from None

    def close(self) -> None:
        os.close(self.file)

    def read(self, address: int, size: int) -> bytes | None:
        try:
            copy = os.pread(self.file, size, address)
        except (OSError, OverflowError):
            return None
        return copy if len(copy) == size else None

    def symbol(self, _name: str) -> int | None:
        return None  # the record is found by its first bytes

    def sections(self) -> list[tuple[int, int, bool]]:
        """The parts of files; what is 0 in the program lies behind one, without a name."""
        found = []
        try:
            with open(f"/proc/{self.pid}/maps", encoding="utf-8", errors="replace") as maps:
                lines = maps.read().splitlines()
        except OSError:
            raise Unreadable(f"process {self.pid} has ended") from None
        end_of_last = 0
        for begin, end, rights, inode, name in (MAPPED.match(line).groups() for line in lines):
            begin, end = int(begin, 16), int(end, 16)
            if rights.startswith("r") and (inode != "0" or (begin == end_of_last and not name)):
                found.append((begin, end, "x" in rights))
                end_of_last = end
        return found
