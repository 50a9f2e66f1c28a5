"""The measuring loop."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from statistics import fmean, median
from typing import Protocol

from runner import catalog, execute, probe
from runner.runtimes import RUNTIMES
from runner.state import Repetition, Row, State

DESCRIBE_TIMEOUT_SECONDS = 20.0


class Observer(Protocol):
    """Who is told what the loop does."""

    def starting(self, row: Row, repetition: int, left: int, seconds_left: float | None) -> None:
        """A repetition starts; `left` counts it too."""

    def finished(self, row: Row) -> None:
        """It ended, and its row says how."""


def describe_all(state: State, build: Path) -> list[str]:
    """Asks every runtime what it is and settles the rows that it cannot do. Returns what the user should know.

    Called when a run starts and whenever it goes on: what was missing then may be there now, and an executable that was
    built anew since then is another contender, whose old repetitions must not be mixed with new ones.
    """
    notes = []
    for name in state.runtimes:
        runtime = RUNTIMES[name]
        rows = [row for row in state.rows if row.runtime == name]
        why_not = runtime.unavailable(build)
        digest = "" if why_not else hashlib.sha256((build / runtime.executable).read_bytes()).hexdigest()
        if state.executables.get(name, digest) != digest:
            if any(row.repetitions for row in rows):
                notes.append(f"{name} is not the executable of before: its earlier repetitions are dropped")
            for row in rows:
                row.reopen()
        state.executables[name] = digest
        if why_not:
            _settle_all(rows, "unavailable", why_not)
            continue
        said = execute.describe(runtime.command(build, "describe"), DESCRIBE_TIMEOUT_SECONDS)
        if isinstance(said, execute.NoNumber):
            _settle_all(rows, said.status, said.reason)
            continue
        state.descriptions[name] = said
        for row in rows:
            ability = said["workloads"].get(row.case.workload)
            if ability is None:
                row.settle("unsupported", f"this build of {name} does not know {row.case.workload}")
            elif not ability.get("supported"):
                row.settle("unsupported", ability.get("reason") or "no reason given")
    return notes


def _settle_all(rows: list[Row], status: str, reason: str) -> None:
    for row in rows:
        row.settle(status, reason)


def measure_all(state: State, build: Path, directory: Path, observer: Observer,
                clock: Callable[[], float] = time.monotonic) -> None:
    """Does what is pending and saves after every repetition. May be interrupted at any point by an exception."""
    workloads = catalog.all_workloads()
    pace = Pace()
    while pending := state.pending():
        repetition, row = pending[0]
        observer.starting(row, repetition, len(pending), pace.seconds_left(state, pending))
        began = clock()
        expected = pace.expected(state, row)
        line = probe.round_trip_ns(build, row.case.threads) if row.case.threads >= 2 else None
        started = clock()
        outcome = execute.measure(RUNTIMES[row.runtime].command(build, "run"), row.case, workloads[row.case.workload])
        seconds = clock() - started
        if isinstance(outcome, execute.Measured):
            row.repetitions.append(Repetition(**asdict(outcome), line_round_trip_ns=line, process_seconds=seconds))
        elif outcome.status == "unsupported":
            row.settle(outcome.status, outcome.reason)
        else:
            row.settle(outcome.status, f"repetition {repetition + 1} of {state.repetitions}: {outcome.reason}")
        state.save(directory)
        pace.turned(expected, seconds, clock() - began)
        observer.finished(row)


class Pace:
    """How long what is pending will take.

    A process is expected to take as long as the last ones of its row, of its case, or of the last cases, in this order. What is
    expected is then held against what the last turns really took: so the estimate follows the load of the machine. What a turn costs
    beside its process, the probe and the saving, may be more than the process.
    """

    RECENT = 9

    def __init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=self.RECENT)
        self._beside: deque[float] = deque(maxlen=self.RECENT)

    def turned(self, expected: float | None, process_seconds: float, whole_seconds: float) -> None:
        """A turn ended."""
        self._beside.append(whole_seconds - process_seconds)
        if expected:
            self._ratios.append(process_seconds / expected)

    def expected(self, state: State, row: Row) -> float | None:
        """What a process of the row takes, as far as others tell; None before anything ran."""
        return _Durations(state).of(row)

    def seconds_left(self, state: State, pending: list[tuple[int, Row]]) -> float | None:
        """None before anything ran."""
        durations = _Durations(state)
        if durations.any is None:
            return None
        load = median(self._ratios) if self._ratios else 1.0
        beside = fmean(self._beside) if self._beside else 0.0
        return sum(durations.of(row) * load + beside for _, row in pending)


class _Durations:
    """What the processes of the rows took lately."""

    WEIGHT_OF_LAST = 0.25

    def __init__(self, state: State) -> None:
        self._rows = {id(row): fmean(each.process_seconds for each in row.repetitions[-2:])
                      for row in state.rows if row.repetitions}
        cases: dict[str, list[float]] = {}
        for row in state.rows:
            if row.repetitions:
                cases.setdefault(row.case.key, []).append(self._rows[id(row)])
        self._cases = {key: fmean(each) for key, each in cases.items()}
        # The mean, though a few cases take a hundred times as long as most: their number among those to come is not known. The
        # later a case was measured the more it says of the load that there is now.
        self.any = None
        for seconds in self._cases.values():
            self.any = seconds if self.any is None else self.any + self.WEIGHT_OF_LAST * (seconds - self.any)

    def of(self, row: Row) -> float | None:
        own = self._rows.get(id(row))
        return own if own is not None else self._cases.get(row.case.key, self.any)
