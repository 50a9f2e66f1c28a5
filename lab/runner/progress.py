"""One line a repetition; on a terminal the line of what runs is refreshed in place."""

from __future__ import annotations

import shutil
from typing import TextIO

from runner import catalog
from runner.state import Row
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
        self._prefix = (f"[{self._done + 1}/{self._total}{time_left}] {row.case.workload} "
                        f"{catalog.short_label(row.case.params)} · {row.runtime} · "
                        f"{repetition + 1}/{self._repetitions}")
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{self._prefix[:width]}", end="", file=self._stream, flush=True)

    def finished(self, row: Row) -> None:
        self._done += 1
        result = _outcome(row)
        if not self._terminal:
            print(f"{self._prefix}: {result}", file=self._stream, flush=True)
        elif row.status not in (None, "unsupported"):
            # What went wrong stays on the screen; the next repetition refreshes the line below it.
            print(f"\r\x1b[K{self._prefix}: {result}", file=self._stream, flush=True)

    def close(self) -> None:
        """Ends the line that was being refreshed."""
        if self._terminal and self._done:
            print("\r\x1b[K", end="", file=self._stream, flush=True)


def _outcome(row: Row) -> str:
    if row.status is not None:
        return f"{row.status}: {row.reason}"
    case = row.case
    items = catalog.all_workloads()[case.workload].items(case.params, case.threads)
    return f"{nanoseconds(row.repetitions[-1].wall_ns / items)} ns/item"


def duration(seconds: float) -> str:
    """For people: 42 s, 3 min, 1 h 20 min."""
    whole = max(1, round(seconds))
    if whole < 100:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
