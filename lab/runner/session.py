"""The measuring loop."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from statistics import fmean, median
from typing import Any, Protocol

from runner import allocators, catalog, execute, load, probe, suites
from runner.runtimes import RUNTIMES
from runner.results import LEAST_CPU_NS
from runner.state import PLAIN, Repetition, Row, State
from runner.suites import SUITES

DESCRIBE_TIMEOUT_SECONDS = 20.0


class Observer(Protocol):
    """What is told how the loop goes."""

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
        for row in rows:
            # What was missing may be there now.
            if row.status == "unavailable":
                row.reopen()
        why_not = runtime.unavailable(build)
        digest = "" if why_not else runtime.digest(build)
        if state.executables.get(name, digest) != digest:
            note = None
            if any(row.repetitions for row in rows):
                note = f"{name} is not the executable of before: its earlier repetitions are dropped"
                notes.append(note)
                state.note(f"{note}, and the new ones were not made in turns with those of the other runtimes")
            for row in rows:
                row.reopen("its executable was another one when the run began" if row.repetitions else None)
        state.executables[name] = digest
        if why_not:
            _settle_all(rows, "unavailable", why_not)
            continue
        said = execute.describe(runtime.command(build, "describe"), DESCRIBE_TIMEOUT_SECONDS)
        if isinstance(said, execute.NoNumber):
            _settle_all(rows, said.status, said.reason)
            continue
        state.descriptions[name] = said
        for row in _dressed(state, rows, said["workloads"]):
            ability = said["workloads"].get(row.case.workload)
            no_malloc = allocators.unavailable(row.malloc)
            if ability is None:
                row.settle("unsupported", f"this build of {name} does not know {row.case.workload}")
            elif not ability.get("supported"):
                row.settle("unsupported", ability.get("reason") or "no reason given")
            elif row.dress not in _dresses(ability):
                row.settle("unsupported", f"this build of {name} has no dress {row.dress} for {row.case.workload}")
            elif no_malloc is not None:
                row.settle("unavailable", no_malloc)
    return notes


def _dresses(ability: dict[str, Any]) -> list[str]:
    """Plain stands for all that its users write; what else there is the adapter says."""
    return [PLAIN, *(name for name in ability.get("dresses", {}) if name != PLAIN)]


def _dressed(state: State, rows: list[Row], workloads: dict[str, Any]) -> list[Row]:
    """The rows and, after each plain one, those of the other dresses that the adapter has."""
    known = {(row.case.key, row.malloc, row.dress) for row in rows}
    dressed = list(rows)
    for row in [each for each in rows if each.dress == PLAIN]:
        for dress in _dresses(workloads.get(row.case.workload) or {}):
            if (row.case.key, row.malloc, dress) not in known:
                other = Row(row.case, row.runtime, dress=dress, malloc=row.malloc)
                state.rows.insert(state.rows.index(row) + 1, other)
                dressed.append(other)
    return dressed


def _settle_all(rows: list[Row], status: str, reason: str) -> None:
    for row in rows:
        row.settle(status, reason)


def reopen_bad(state: State, bad: tuple[str, ...]) -> int:
    """Lets rows that went wrong be measured again. Returns how many there are."""
    rows = [row for row in state.rows if row.status in bad]
    for row in rows:
        row.reopen(f"{row.status} before: {row.reason}")
    return len(rows)


def measure_all(state: State, build: Path, directory: Path, observer: Observer,
                clock: Callable[[], float] = time.monotonic) -> None:
    """Does what is pending and saves after every repetition. May be interrupted at any point by an exception."""
    pace = Pace()
    counted = clock()  # up to when the seconds of the run go
    while pending := state.pending():
        repetition, row = pending[0]
        observer.starting(row, repetition, len(pending), pace.seconds_left(state, pending))
        began = clock()
        expected = pace.expected(state, row)
        outcome, seconds = _measure_long_enough(state, row, build, clock)
        if isinstance(outcome, Repetition):
            row.repetitions.append(outcome)
        elif outcome.status == "unsupported":
            row.settle(outcome.status, outcome.reason)
        else:
            of = row.case.repetitions(state.repetitions)
            row.settle(outcome.status, f"repetition {repetition + 1} of {of}: {outcome.reason}")
        now = clock()
        state.seconds, counted = state.seconds + now - counted, now
        state.save(directory)
        pace.turned(expected, seconds, clock() - began)
        observer.finished(row)


# A repetition under load is made again so often at most, and all of a run together by so much of it.
MOST_REPEATS = 2
MOST_DISCARDED = 0.25


# How much longer a repetition is made at once, and how much CPU beyond the least it then shall have.
MOST_LONGER = 8
CPU_MARGIN = 1.3


def _measure_long_enough(state: State, row: Row, build: Path,
                         clock: Callable[[], float]) -> tuple[Repetition | execute.NoNumber, float]:
    """One repetition with CPU enough to be counted; where it has less it is made again, and longer. From then on those of
    all runtimes of the case are as long: thrift shall not leave a row without its figure."""
    outcome, seconds = _measure_quietly(state, row, build, clock)
    while isinstance(outcome, Repetition) and not row.is_as_long_as_it_gets and \
            (longer := _longer(state, row, outcome)) is not None:
        before = state.least_ms.get(row.case.key, 0)
        state.least_ms[row.case.key] = longer
        again, seconds = _measure_quietly(state, row, build, clock)
        if isinstance(again, Repetition) and again.passes <= outcome.passes:
            # Its work is done once, however long it shall last.
            row.is_as_long_as_it_gets = True
            state.least_ms[row.case.key] = before
        outcome = again
    return outcome, seconds


def _longer(state: State, row: Row, outcome: Repetition) -> int | None:
    """How long the repetitions of the case must be, in ms, for this one to have CPU enough; None where they need not or
    may not."""
    suite, least = SUITES[state.suite], _least_ms(state, row.case)
    if suite.least_ms == 0 or outcome.cpu_ns >= LEAST_CPU_NS:
        return None
    by = min(MOST_LONGER, CPU_MARGIN * LEAST_CPU_NS / max(outcome.cpu_ns, 1))
    wanted = min(math.ceil(by * max(least, outcome.wall_ns / 1e6)), max(suite.most_ms, least))
    return wanted if wanted > max(least, outcome.wall_ns / 1e6) else None


def _least_ms(state: State, case: suites.Case) -> int:
    """How long the timed parts of a repetition of the case are together."""
    asked = suites.least_ms(SUITES[state.suite], catalog.all_workloads()[case.workload], case.params)
    return max(asked, state.least_ms.get(case.key, 0))


def _measure_quietly(state: State, row: Row, build: Path,
                     clock: Callable[[], float]) -> tuple[Repetition | execute.NoNumber, float]:
    """One repetition, made again while the machine is under load; the quietest is taken. And the seconds of its
    process."""
    best, best_seconds = _measure_once(state, row, build, clock)
    for _ in range(MOST_REPEATS if SUITES[state.suite].repeats else 0):
        quiet = not isinstance(best, Repetition) or best.load is None or not best.load.under_load
        if quiet or state.discarded + 1 > MOST_DISCARDED * state.to_run:
            break
        again, seconds = _measure_once(state, row, build, clock)
        row.discarded += 1
        fastest = state.fastest(None)
        if not isinstance(again, Repetition) or again.load.disturbance(fastest) < best.load.disturbance(fastest):
            best, best_seconds = again, seconds
    return best, best_seconds


def _measure_once(state: State, row: Row, build: Path,
                  clock: Callable[[], float]) -> tuple[Repetition | execute.NoNumber, float]:
    case = row.case
    line = probe.round_trip_ns(build, case.threads) if case.threads >= 2 else None
    speed = probe.multiply_ns(build)
    workload = catalog.all_workloads()[case.workload]
    contender = execute.Contender(tuple(RUNTIMES[row.runtime].command(build, "run")), row.dress, row.malloc)
    before, started = load.moment(), clock()
    outcome = execute.measure(contender, case, workload, _least_ms(state, case))
    seconds, after = clock() - started, load.moment()
    if isinstance(outcome, execute.NoNumber):
        return outcome, seconds
    beside = load.with_speed(load.between(before, after, load.cpu_count()), speed, state.fastest(speed))
    return Repetition(**asdict(outcome), line_round_trip_ns=line, process_seconds=seconds, load=beside), seconds


class Pace:
    """How long what is pending will take.

    A process is expected to take as long as the last ones of its row, of its case, or of the last cases, in this order.
    What is expected is then held against what the last turns really took: so the estimate follows the load of the
    machine. What a turn costs beside its process, the probe and the saving, may be more than the process.
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
        # The mean, though a few cases take a hundred times as long as most: their number among those to come is not
        # known. The later a case was measured the more it says of the load that there is now.
        self.any = None
        for seconds in self._cases.values():
            self.any = seconds if self.any is None else self.any + self.WEIGHT_OF_LAST * (seconds - self.any)

    def of(self, row: Row) -> float | None:
        own = self._rows.get(id(row))
        return own if own is not None else self._cases.get(row.case.key, self.any)
