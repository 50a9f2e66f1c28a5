"""What a run has done so far: enough to go on after an interruption, saved after every repetition."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from runner.suites import Case

FORMAT = 1
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
    # Of the whole process with its warm-up, for the estimate of the time left.
    process_seconds: float


@dataclass
class Row:
    """One runtime on one case. `status` is None as long as nothing but right answers came."""

    case: Case
    runtime: str
    repetitions: list[Repetition] = field(default_factory=list)
    status: str | None = None
    reason: str | None = None

    def settle(self, status: str, reason: str) -> None:
        """Ends the row without a figure."""
        self.status, self.reason = status, reason

    def reopen(self) -> None:
        """Forgets what was measured, for an executable that is another one now."""
        self.repetitions, self.status, self.reason = [], None, None


@dataclass
class State:
    """A run: what was asked for, on which machine, and its rows, case after case."""

    suite: str
    repetitions: int
    machine: dict[str, Any]
    rows: list[Row]
    # By runtime: what `describe` said, and the SHA-256 of the executable that said it.
    descriptions: dict[str, dict[str, Any]] = field(default_factory=dict)
    executables: dict[str, str] = field(default_factory=dict)

    @property
    def runtimes(self) -> list[str]:
        return list(dict.fromkeys(row.runtime for row in self.rows))

    def pending(self) -> list[tuple[int, Row]]:
        """The repetitions still to do, in the order A B C A B C of the runtimes within each case."""
        by_case: dict[str, list[Row]] = {}
        for row in self.rows:
            by_case.setdefault(row.case.key, []).append(row)
        return [(repetition, row) for rows in by_case.values() for repetition in range(self.repetitions) for row in rows
                if row.status is None and len(row.repetitions) <= repetition]

    def save(self, directory: Path) -> None:
        """Replaces the saved state at once, so that an interruption leaves the old or the new one."""
        data = {"format": FORMAT, "suite": self.suite, "repetitions": self.repetitions, "machine": self.machine,
                "descriptions": self.descriptions, "executables": self.executables,
                "rows": [{"case": row.case.to_json(), "runtime": row.runtime, "status": row.status,
                          "reason": row.reason, "repetitions": [asdict(each) for each in row.repetitions]}
                         for row in self.rows]}
        write_atomically(directory / FILE, json.dumps(data))

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
        rows = [Row(Case(**row["case"]), row["runtime"], [Repetition(**each) for each in row["repetitions"]],
                    row["status"], row["reason"]) for row in data["rows"]]
        return State(data["suite"], data["repetitions"], data["machine"], rows, data["descriptions"],
                     data["executables"])


def write_atomically(path: Path, text: str) -> None:
    """Writes a file that is whole at any moment."""
    beside = path.with_name(path.name + ".new")
    with beside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
