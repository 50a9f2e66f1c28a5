"""What a run has done so far: enough to go on after an interruption, saved after every repetition."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from runner.allocators import GLIBC
from runner.load import Load
from runner.seeds import compared_with
from runner.suites import PLAIN, Case


FORMAT = 2
FILE = "state.json"


class StateError(Exception):
    """The directory holds no run that can be continued."""


@dataclass(frozen=True)
class Repetition:
    """One measured repetition."""

    wall_ns: int
    cpu_ns: int
    peak_rss_bytes: int
    allocator: str
    line_round_trip_ns: float | None
    # How long the whole process took with its warm-up, for the estimate of the time left.
    process_seconds: float
    # How often the work was done in it; the figures are the sums.
    passes: int = 1
    load: Load | None = None
    # What else the adapter measured, by name.
    figures: dict[str, float] = field(default_factory=dict)

    @cached_property
    def as_json(self) -> str:
        """Made once: all of a run are saved after each of them."""
        return json.dumps(asdict(self))


@dataclass
class Row:
    """One runtime in one dress with one malloc on one case. `status` is None as long as nothing but right answers
    came."""

    case: Case
    runtime: str
    repetitions: list[Repetition] = field(default_factory=list)
    status: str | None = None
    reason: str | None = None
    dress: str = PLAIN
    malloc: str = GLIBC
    # What the reader of its figures must know.
    notes: list[str] = field(default_factory=list)
    # Repetitions that were under load and were repeated.
    discarded: int = 0
    # Whether repetitions that were to last longer did not.
    is_as_long_as_it_gets: bool = field(default=False, init=False, compare=False)
    # The text for the saved state without the repetitions, after what of the row may change.
    _saved: tuple[tuple[Any, ...], str] = field(default=((), ""), init=False, repr=False, compare=False)

    def settle(self, status: str, reason: str) -> None:
        """Ends the row without a figure."""
        self.status, self.reason = status, reason

    def reopen(self, note: str | None = None) -> None:
        """Forgets what was measured: the row is measured anew, and the note says why."""
        self.repetitions, self.status, self.reason = [], None, None
        if note is not None and note not in self.notes:
            self.notes.append(note)

    @property
    def as_json(self) -> str:
        """The row in the saved state."""
        changing = (self.status, self.reason, tuple(self.notes), self.discarded)
        if self._saved[0] != changing:
            head = {"case": self.case.to_json(), "runtime": self.runtime, "dress": self.dress, "malloc": self.malloc,
                    "status": self.status, "reason": self.reason, "notes": self.notes, "discarded": self.discarded}
            self._saved = (changing, _open(head))
        repetitions = ", ".join(each.as_json for each in self.repetitions)
        return f'{self._saved[1]}, "repetitions": [{repetitions}]}}'


@dataclass
class State:
    """A run: what was asked for, on which machine, and its rows, case after case."""

    suite: str
    repetitions: int
    machine: dict[str, Any]
    rows: list[Row]
    # By runtime: what `describe` said, and the digest of its executables.
    descriptions: dict[str, dict[str, Any]] = field(default_factory=dict)
    executables: dict[str, str] = field(default_factory=dict)
    # What the reader of the report must know of the run.
    notes: list[str] = field(default_factory=list)
    # What else the machine did when the run began, where that was much.
    busy: str | None = None
    # How long it has measured, in all its parts.
    seconds: float = 0.0
    # Cases of which a document takes the difference have their rounds together. Not in a run that an earlier version of
    # the lab began.
    together: bool = True
    # The options by which it measures less than its suite has.
    narrowed: list[str] | None = None
    # By the key of a case, how long its repetitions must be so that the CPU of each runtime can be counted.
    least_ms: dict[str, int] = field(default_factory=dict)
    # At most one, once it has been asked for.
    _fastest_ns: list[float] | None = field(default=None, init=False, repr=False, compare=False)
    _blocks: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def runtimes(self) -> list[str]:
        return list(dict.fromkeys(row.runtime for row in self.rows))

    @property
    def discarded(self) -> int:
        return sum(row.discarded for row in self.rows)

    @property
    def to_run(self) -> int:
        """The repetitions of the whole run. A row that has ended without a figure has no more than it made."""
        return sum(len(row.repetitions) if row.status else row.case.repetitions(self.repetitions) for row in self.rows)

    def fastest(self, multiply_ns: float | None) -> float | None:
        """The fastest multiplication of the run, this one among them."""
        if self._fastest_ns is None:
            self._fastest_ns = [each.load.multiply_ns for row in self.rows for each in row.repetitions
                                if each.load is not None and each.load.multiply_ns is not None]
        self._fastest_ns = sorted([*self._fastest_ns, *([] if multiply_ns is None else [multiply_ns])])[:1]
        return self._fastest_ns[0] if self._fastest_ns else None

    def pending(self) -> list[tuple[int, Row]]:
        """The repetitions still to do, round by round within each case; within those together of which a document takes
        the difference, so that a round of it is not minutes long.

        The first round begins with the first row, the second with the second: over as many rounds as there are rows
        each has been in each place, as in a Latin square. A row that has ended keeps its place, so that a resumed run
        has the same order.
        """
        together: dict[str, dict[str, list[Row]]] = {}
        for row in self.rows:
            together.setdefault(self._block(row.case), {}).setdefault(row.case.key, []).append(row)
        return [(repetition, row) for cases in together.values()
                for repetition in range(self.repetitions)
                for rows in rotated(list(cases.values()), repetition)
                for row in rotated(rows, repetition)
                if row.status is None and len(row.repetitions) <= repetition < row.case.repetitions(self.repetitions)]

    def _block(self, case: Case) -> str:
        """The key of the cases that are measured together."""
        if case.key not in self._blocks:
            self._blocks[case.key] = compared_with(case.workload, case.params) if self.together else case.key
        return self._blocks[case.key]

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def save(self, directory: Path) -> None:
        """Replaces the saved state at once, so that an interruption leaves the old or the new one."""
        data = {"format": FORMAT, "suite": self.suite, "repetitions": self.repetitions, "machine": self.machine,
                "descriptions": self.descriptions, "executables": self.executables, "notes": self.notes,
                "busy": self.busy, "seconds": self.seconds, "together": self.together, "narrowed": self.narrowed,
                "least_ms": self.least_ms}
        rows = ", ".join(row.as_json for row in self.rows)
        write_atomically(directory / FILE, f'{_open(data)}, "rows": [{rows}]}}')

    @staticmethod
    def load(directory: Path) -> State:
        """Raises StateError where the directory holds no run."""
        path = directory / FILE
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise StateError(f"{directory} holds no run of the lab: {error.strerror}: {path.name}") from error
        except ValueError as error:
            raise StateError(f"{path} is damaged: {error}") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise StateError(f"{path} has not the format of this version of the lab; start a new run")
        rows = [Row(Case(**row["case"]), row["runtime"], [_repetition(each) for each in row["repetitions"]],
                    row["status"], row["reason"], row["dress"], row["malloc"], row["notes"], row["discarded"])
                for row in data["rows"]]
        return State(data["suite"], data["repetitions"], data["machine"], rows, data["descriptions"],
                     data["executables"], data["notes"], data["busy"], data.get("seconds", 0.0), data.get("together", False),
                     data.get("narrowed"), data.get("least_ms", {}))


def _open(fields: dict[str, Any]) -> str:
    """The object without its last brace, for one more field."""
    return json.dumps(fields)[:-1]


def _repetition(saved: dict[str, Any]) -> Repetition:
    return Repetition(**saved | {"load": saved["load"] and Load(**saved["load"])})


def rotated(rows: list[Row], by: int) -> list[Row]:
    """The rows in their order, from another one on."""
    first = by % len(rows)
    return rows[first:] + rows[:first]


class WriteError(Exception):
    """A file of the run could not be written."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Writes a file that is whole at any moment. Raises WriteError; what stood there before stands there still."""
    beside = path.with_name(path.name + ".new")
    try:
        with beside.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise WriteError(f"cannot write {path}: {error.strerror}") from error
