"""A run from its first repetition, or from where it stopped, to its reports."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner import comparison, load, locks, machine, paths, report, results, session, tables
from runner.progress import Progress
from runner.state import FILE as STATE_FILE
from runner.state import State
from runner.suites import SUITES
from runner.verdicts import by_case, losses_first, paired


class RunError(Exception):
    """The run cannot start as asked."""


@dataclass(frozen=True)
class Asked:
    """What to do beside measuring what is pending."""

    compare_with: Path | None
    continuing: bool
    retry_failed: bool


def run(state: State, directory: Path, asked: Asked) -> int:
    """Returns the exit status: 0 where all that ran was right, otherwise 1. Raises RunError, locks.Busy and
    WriteError."""
    try:
        old = results.load(asked.compare_with) if asked.compare_with is not None else None
    except results.ResultsError as error:
        raise RunError(str(error)) from error
    with locks.machine(SUITES[state.suite].waits):
        # Before a line is printed: the first one is what a reader of figures must know first.
        quiet = load.watch()
        if quiet.under_load:
            state.busy = quiet.text()
            print(f"busy machine: {quiet.text()}; figures of a busy machine are worth little", flush=True)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"cannot make {directory}: {error.strerror}") from error
        with locks.directory(directory):
            return _run(state, directory, old, asked)


def _run(state: State, directory: Path, old: dict[str, Any] | None, asked: Asked) -> int:
    build = paths.build_dir()
    here = machine.describe(paths.ROOT, coflux_version=None)
    if asked.continuing:
        differs = machine.difference(state.machine, here)
        if differs is not None:
            raise RunError(f"{directory} was measured on another machine ({differs}); start a new run")
        # Another run may have gone on here between the reading of the state and the lock.
        state, busy = State.load(directory), state.busy
        state.busy = busy or state.busy
        if asked.retry_failed:
            print(f"{session.reopen_bad(state, results.BAD)} rows are measured again")
    else:
        if (directory / STATE_FILE).exists():
            raise RunError(f"{directory} holds another run since a moment ago; choose another --out")
        state.machine = here
    state.save(directory)
    for note in session.describe_all(state, build):
        print(note)
    state.machine["coflux_version"] = state.descriptions.get("coflux", {}).get("version")
    state.save(directory)
    progress = Progress(sys.stdout, state.repetitions)
    try:
        session.measure_all(state, build, directory, progress)
    finally:
        progress.close()
    collected = results.collect(state)
    saved = results.save(collected, directory)
    compared = comparison.compare(old, collected) if old is not None else None
    written = report.write(collected, compared, directory)
    _print_outcome(collected)
    if compared is not None:
        print(f"\n{comparison.as_text(compared)}")
    print()
    for path in (saved, *written):
        print(paths.shown(path))
    return 1 if any(row["status"] in results.BAD for row in collected["rows"]) else 0


def _print_outcome(collected: dict[str, Any]) -> None:
    """The table, and below it every row that has no figure because something went wrong."""
    rows = collected["rows"]
    # Where the output goes to a file, its width is that of the sources.
    width = shutil.get_terminal_size((120, 24)).columns
    cases = losses_first(by_case(rows))
    print(f"\n{tables.matrix(cases, report.runtimes_of(rows), width)}")
    for case in cases:
        for variant in case.variants:
            against = paired(variant, case.baseline)
            said = "" if against is None else f" ({against.text()})"
            print(f"also: {comparison.row_name(variant)}: {tables.figure(variant)} ns/item{said}")
    for row in rows:
        if row["status"] in results.BAD:
            print(f"{row['status']}: {comparison.row_name(row)}: {row['reason']}")
    for name, reason in sorted({(comparison.who(row), row["reason"]) for row in rows if row["status"] == "unavailable"}):
        print(f"unavailable: {name}: {reason}")
    for line in [*filter(None, [report.busy_line(collected)]), *collected["notes"]]:
        print(f"note: {line}")
