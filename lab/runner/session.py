"""The measuring loop."""

from __future__ import annotations

import hashlib
import time
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


def measure_all(state: State, build: Path, directory: Path, observer: Observer) -> None:
    """Does what is pending and saves after every repetition. May be interrupted at any point by an exception."""
    workloads = catalog.all_workloads()
    while pending := state.pending():
        repetition, row = pending[0]
        observer.starting(row, repetition, len(pending), seconds_left(state, pending))
        line = probe.round_trip_ns(build, row.case.threads) if row.case.threads >= 2 else None
        started = time.monotonic()
        outcome = execute.measure(RUNTIMES[row.runtime].command(build, "run"), row.case, workloads[row.case.workload])
        if isinstance(outcome, execute.Measured):
            row.repetitions.append(Repetition(**asdict(outcome), line_round_trip_ns=line,
                                              process_seconds=time.monotonic() - started))
        elif outcome.status == "unsupported":
            row.settle(outcome.status, outcome.reason)
        else:
            row.settle(outcome.status, f"repetition {repetition + 1} of {state.repetitions}: {outcome.reason}")
        state.save(directory)
        observer.finished(row)


def seconds_left(state: State, pending: list[tuple[int, Row]]) -> float | None:
    """An estimate: a row's own mean where it has run, otherwise the median row's. None before anything ran.

    The median, because a few rows take a hundred times as long as most.
    """
    known = {id(row): fmean(each.process_seconds for each in row.repetitions) for row in state.rows if row.repetitions}
    if not known:
        return None
    typical = median(known.values())
    return sum(known.get(id(row), typical) for _, row in pending)
