"""results.json: the rows of a run, in the form that lab/schema/results.schema.json fixes."""

from __future__ import annotations

import json
import lzma
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from runner import allocators, catalog, probe, schemas, stats
from runner.state import Repetition, Row, State, write_atomically

SCHEMA_VERSION = 2
FILE = "results.json"
# Results that are kept in the checkout.
SUFFIX = ".json.xz"
UNIT = "ns/item"
# The kernel counts CPU in ticks of some milliseconds, and late for threads that run: below this there is no figure of
# it.
LEAST_CPU_NS = 20_000_000
# Where one of these is, the run has not shown that all is right.
BAD = ("wrong", "failed", "timeout")


class ResultsError(Exception):
    """The directory holds no results that can be read."""


def collect(state: State) -> dict[str, Any]:
    """The whole of results.json."""
    loads = [each.load for row in state.rows for each in row.repetitions if each.load is not None]
    busy = {"at_start": state.busy, "repetitions": len(loads),
            "under_load": sum(each.under_load for each in loads), "discarded": state.discarded}
    return {"schema": SCHEMA_VERSION, "machine": state.machine, "suite": state.suite, "narrowed": state.narrowed, "seconds": round(state.seconds, 1),
            "together": state.together, "busy": busy, "notes": state.notes, "rows": [_row(state, row) for row in state.rows]}


def _row(state: State, row: Row) -> dict[str, Any]:
    case = row.case
    said = state.descriptions.get(row.runtime, {})
    items = catalog.all_workloads()[case.workload].items(case.params, case.threads)
    collected = {
        "workload": case.workload, "params": case.params, "runtime": row.runtime, "dress": row.dress,
        "headline": case.headline, "malloc": row.malloc, "recommended": row.malloc == allocators.recommended(row.runtime),
        "version": said.get("version"), "compiler": said.get("compiler"), "flags": said.get("flags"),
        "allocator": said.get("allocator"), "threads": case.threads,
        "status": row.status, "reason": row.reason, "verified": False, "items": items, "unit": UNIT,
        "n": 0, "samples": [], **_median_of([]), "cpu_samples": [], **_prefixed("cpu_", _median_of([])),
        "passes": [], "timed_ms": None, "peak_rss_bytes": None, "line_round_trip_ns": None, "loads": [],
        "discarded": row.discarded,
    }
    if row.status is not None:
        # A row that went wrong once has no figure at all, also not of the repetitions that seemed right.
        return collected
    samples = [each.wall_ns / (items * each.passes) for each in row.repetitions]
    cpu_samples = [_cpu(each, items) for each in row.repetitions]
    lines = [each.line_round_trip_ns for each in row.repetitions]
    return collected | {
        "status": "ok", "reason": "; ".join(filter(None, [*row.notes, probe.straddle(lines)])) or None, "verified": True,
        "allocator": row.repetitions[-1].allocator or said.get("allocator"),
        "n": len(samples), "samples": samples, **_median_of(samples),
        "cpu_samples": cpu_samples,
        **_prefixed("cpu_", _median_of([] if None in cpu_samples else cpu_samples)),
        "passes": [each.passes for each in row.repetitions],
        "timed_ms": min(each.wall_ns for each in row.repetitions) / 1e6,
        "peak_rss_bytes": max(each.peak_rss_bytes for each in row.repetitions),
        "line_round_trip_ns": None if all(line is None for line in lines) else lines,
        "loads": [each.load and asdict(each.load) for each in row.repetitions],
        **_figures(row.repetitions),
    }


def _figures(repetitions: list[Repetition]) -> dict[str, Any]:
    """The figures that every repetition has beside its time, with their medians; a row without any has no such
    field."""
    names = [name for name in repetitions[0].figures if all(name in each.figures for each in repetitions)]
    samples = {name: [each.figures[name] for each in repetitions] for name in names}
    return {"figures": {name: {"median": median(values), "samples": values} for name, values in samples.items()}} if names else {}


def _cpu(repetition: Repetition, items: int) -> float | None:
    if repetition.cpu_ns < LEAST_CPU_NS:
        return None
    return repetition.cpu_ns / (items * repetition.passes)


def _median_of(samples: list[float]) -> dict[str, float | None]:
    if not samples:
        return dict.fromkeys(("median", "mad", "ci_low", "ci_high", "coverage"))
    summary = stats.summarize(samples)
    found = summary.interval
    return {"median": summary.median, "mad": summary.mad, "ci_low": found and found.low, "ci_high": found and found.high,
            "coverage": found and found.coverage}


def _prefixed(prefix: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {prefix + name: value for name, value in fields.items()}


def save(results: dict[str, Any], directory: Path) -> Path:
    path = directory / FILE
    write_atomically(path, json.dumps(results, indent=1) + "\n")
    return path


def compressed(results: dict[str, Any]) -> bytes:
    """The form of a file that is kept. The settings are fixed, so that the same results are the same bytes."""
    text = json.dumps(results, separators=(",", ":")) + "\n"
    return lzma.compress(text.encode(), preset=lzma.PRESET_DEFAULT | lzma.PRESET_EXTREME)


def load(path: Path) -> dict[str, Any]:
    """Those of a run's directory, or of a file. Raises ResultsError where there are none."""
    if not path.is_file():
        path /= FILE
    try:
        content = path.read_bytes()
        data = json.loads(lzma.decompress(content) if path.suffix == ".xz" else content)
    except OSError as error:
        raise ResultsError(f"{path.parent} holds no results: {error.strerror}: {path.name}") from error
    except (ValueError, lzma.LZMAError) as error:
        raise ResultsError(f"{path} is damaged: {error}") from error
    try:
        return schemas.to_present(data, SCHEMA_VERSION)
    except schemas.SchemaError as error:
        raise ResultsError(f"{path} {error}") from error
