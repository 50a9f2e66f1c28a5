"""The probe: where the host has put the CPUs right now, and how fast they are."""

from __future__ import annotations

from pathlib import Path

from runner import execute

EXECUTABLE = "bin/lab_probe"
TIMEOUT_SECONDS = 10.0
# Round trips further apart than this belong to different places of the CPUs.
STATE_FACTOR = 2.0


def round_trip_ns(build: Path, threads: int) -> float | None:
    """The round trip of one cache line between the first two CPUs of a repetition; None where it cannot be measured."""
    cpus = execute.cpus_for(threads)
    return _said(build, cpus[:2]) if len(cpus) >= 2 else None


def multiply_ns(build: Path) -> float | None:
    """How long a multiplication takes that waits for the one before; None where it cannot be measured."""
    return _said(build, execute.cpus_for(1))


def _said(build: Path, cpus: list[int]) -> float | None:
    executable = build / EXECUTABLE
    if not executable.is_file():
        return None
    finished = execute.call([str(executable), *map(str, cpus)], cpus, TIMEOUT_SECONDS)
    if finished.timed_out or finished.exit_status != 0:
        return None
    try:
        return float(finished.stdout)
    except ValueError:
        return None


def straddle(round_trips: list[float | None]) -> str | None:
    """The note of a row whose repetitions saw the CPUs in both places."""
    known = [value for value in round_trips if value is not None]
    if not known or max(known) <= STATE_FACTOR * min(known):
        return None
    return (f"its repetitions straddle both states of the CPUs: line round trips from {min(known):.0f} to "
            f"{max(known):.0f} ns")
