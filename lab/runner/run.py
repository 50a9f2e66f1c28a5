"""A run from its first repetition, or from where it stopped, to its reports."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from runner import comparison, machine, paths, report, results, session, tables
from runner.progress import Progress
from runner.state import State
from runner.verdicts import by_case, losses_first


class RunError(Exception):
    """The run cannot start as asked."""


def run(state: State, directory: Path, old_directory: Path | None, continuing: bool) -> int:
    """Returns the exit status: 0 where all that ran was right, otherwise 1."""
    try:
        old = results.load(old_directory) if old_directory is not None else None
    except results.ResultsError as error:
        raise RunError(str(error)) from error
    build = paths.build_dir()
    here = machine.describe(paths.ROOT, coflux_version=None)
    if continuing:
        differs = machine.difference(state.machine, here)
        if differs is not None:
            raise RunError(f"{directory} was measured on another machine ({differs}); start a new run")
    else:
        state.machine = here
        directory.mkdir(parents=True, exist_ok=True)
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
    _print_outcome(collected["rows"])
    if compared is not None:
        print(f"\n{comparison.as_text(compared)}")
    print()
    for path in (saved, *written):
        print(paths.shown(path))
    return 1 if any(row["status"] in results.BAD for row in collected["rows"]) else 0


def _print_outcome(rows: list[dict]) -> None:
    """The table, and below it every row that has no figure because something went wrong."""
    # Where the output goes to a file, its width is that of the sources.
    width = shutil.get_terminal_size((120, 24)).columns
    print(f"\n{tables.matrix(losses_first(by_case(rows)), report.runtimes_of(rows), width)}")
    for row in rows:
        if row["status"] in results.BAD:
            print(f"{row['status']}: {comparison.row_name(row)}: {row['reason']}")
    for name, reason in sorted({(row["runtime"], row["reason"]) for row in rows if row["status"] == "unavailable"}):
        print(f"unavailable: {name}: {reason}")
