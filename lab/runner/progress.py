"""One line a repetition; on a terminal the line of what runs is refreshed in place, and one a row stays."""

from __future__ import annotations

import shutil
from statistics import median
from typing import TextIO

from runner import allocators, catalog
from runner.state import PLAIN, Row
from runner.tables import nanoseconds


class Progress:
    """Writes to a stream what the measuring loop does."""

    def __init__(self, stream: TextIO, repetitions: int) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._repetitions = repetitions
        self._prefix = ""
        self._total = 0
        self._done = 0

    def starting(self, row: Row, repetition: int, left: int, seconds_left: float | None) -> None:
        self._total = self._done + left
        time_left = "" if seconds_left is None else f", about {duration(seconds_left)} left"
        self._prefix = (f"[{self._done + 1}/{self._total}{time_left}] {name_of(row)} · "
                        f"{repetition + 1}/{row.case.repetitions(self._repetitions)}")
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{self._prefix[:width]}", end="", file=self._stream, flush=True)

    def finished(self, row: Row) -> None:
        self._done += 1
        result = _outcome(row)
        if not self._terminal:
            print(f"{self._prefix}: {result}", file=self._stream, flush=True)
        elif row.status not in (None, "unsupported"):
            # What stays on the screen: what went wrong, and each figure. The next repetition refreshes the line below
            # it.
            print(f"\r\x1b[K{self._prefix}: {result}", file=self._stream, flush=True)
        elif row.status is None and len(row.repetitions) >= row.case.repetitions(self._repetitions):
            print(f"\r\x1b[K{name_of(row)}: {nanoseconds(_median(row))} ns/item", file=self._stream, flush=True)

    def close(self) -> None:
        """Ends the line that was being refreshed."""
        if self._terminal and self._done:
            print("\r\x1b[K", end="", file=self._stream, flush=True)


def name_of(row: Row) -> str:
    who = contender(row.runtime, row.dress, row.malloc, row.malloc == allocators.recommended(row.runtime))
    return f"{row.case.workload} {catalog.short_label(row.case.params)} · {who}"


def contender(runtime: str, dress: str, malloc: str, recommended: bool) -> str:
    """tokio, tokio expert, tokio expert +mimalloc: what is not told is plain, and the runtime's recommended
    allocator."""
    return " ".join([runtime, *([] if dress == PLAIN else [dress]), *([] if recommended else [f"+{malloc}"])])


def _outcome(row: Row) -> str:
    if row.status is not None:
        return f"{row.status}: {row.reason}"
    last = row.repetitions[-1]
    loaded = " (under load)" if last.load is not None and last.load.under_load else ""
    return f"{nanoseconds(last.wall_ns / (_items(row) * last.passes))} ns/item{loaded}"


def _median(row: Row) -> float:
    return median(each.wall_ns / each.passes for each in row.repetitions) / _items(row)


def _items(row: Row) -> int:
    case = row.case
    return catalog.all_workloads()[case.workload].items(case.params, case.threads)


def duration(seconds: float) -> str:
    """For people: 42 s, 3 min, 1 h 20 min."""
    whole = max(1, round(seconds))
    if whole < 100:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
