"""results.json: the rows of a run, in the form that lab/schema/results.schema.json fixes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from runner import catalog, probe, stats
from runner.state import Row, State, write_atomically

SCHEMA_VERSION = 1
FILE = "results.json"
UNIT = "ns/item"
# Where one of these is, the run has not shown that all is right.
BAD = ("wrong", "failed", "timeout")


class ResultsError(Exception):
    """The directory holds no results that can be read."""


def collect(state: State) -> dict[str, Any]:
    """The whole of results.json."""
    return {"schema": SCHEMA_VERSION, "machine": state.machine, "rows": [_row(state, row) for row in state.rows]}


def _row(state: State, row: Row) -> dict[str, Any]:
    case = row.case
    said = state.descriptions.get(row.runtime, {})
    items = catalog.all_workloads()[case.workload].items(case.params, case.threads)
    collected = {
        "workload": case.workload, "params": case.params, "runtime": row.runtime,
        "version": said.get("version"), "compiler": said.get("compiler"), "flags": said.get("flags"),
        "allocator": said.get("allocator"), "threads": case.threads,
        "status": row.status, "reason": row.reason, "verified": False, "items": items, "unit": UNIT,
        "median": None, "mad": None, "ci_low": None, "ci_high": None, "n": 0, "samples": [],
        "cpu_ns_per_item": None, "peak_rss_bytes": None, "line_round_trip_ns": None,
    }
    if row.status is not None:
        # A row that went wrong once has no figure at all, also not of the repetitions that seemed right.
        return collected
    samples = [each.wall_ns / items for each in row.repetitions]
    summary = stats.summarize(samples)
    lines = [each.line_round_trip_ns for each in row.repetitions]
    return collected | {
        "status": "ok", "reason": probe.straddle(lines), "verified": True,
        "allocator": row.repetitions[-1].allocator or said.get("allocator"),
        "median": summary.median, "mad": summary.mad, "ci_low": summary.low, "ci_high": summary.high,
        "n": len(samples), "samples": samples,
        "cpu_ns_per_item": stats.summarize([each.cpu_ns / items for each in row.repetitions]).median,
        "peak_rss_bytes": max(each.peak_rss_bytes for each in row.repetitions),
        "line_round_trip_ns": None if all(line is None for line in lines) else lines,
    }


def save(results: dict[str, Any], directory: Path) -> Path:
    path = directory / FILE
    write_atomically(path, json.dumps(results, indent=1) + "\n")
    return path


def load(directory: Path) -> dict[str, Any]:
    """Raises ResultsError where there is nothing to compare with."""
    path = directory / FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultsError(f"{directory} holds no results: {error.strerror}: {path.name}") from error
    except ValueError as error:
        raise ResultsError(f"{path} is damaged: {error}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA_VERSION:
        raise ResultsError(f"{path} has not schema {SCHEMA_VERSION}")
    return data
