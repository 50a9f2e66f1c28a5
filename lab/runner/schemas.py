"""Results of earlier versions of the lab, in the form of today's."""

from __future__ import annotations

from typing import Any

from runner import stats


class SchemaError(Exception):
    """What cannot be read, and why."""


def to_present(data: Any, present: int) -> dict[str, Any]:
    """Raises SchemaError where these are no results, or of a later version."""
    version = data.get("schema") if isinstance(data, dict) else None
    if version == present:
        return _dressed(data)
    if version == 1:
        return _dressed(_from_1(data))
    if type(version) is int and version > present:
        raise SchemaError(f"has schema {version}, of a later version of the lab; this one reads up to {present}")
    raise SchemaError(f"has no schema that this lab reads (1 to {present}): it says {version!r}")


# Bursts and trees whose forks Coflux awaited by hand in what was called plain then: no page teaches that.
BY_HAND = {"fork_pool": {"mode": "final"}, "memory_after": {}, "nqueens": {}, "oversubscribed": {"idiom": "fork"}, "skynet": {},
           "spawn_join": {}, "unbalanced": {}}


def _dressed(data: dict[str, Any]) -> dict[str, Any]:
    """Such rows are an expert's; where that had one, too, it was the same program, and that one is kept. Files that say what
    they leave out are of later."""
    if "narrowed" in data:
        return data
    rows = []
    for row in data["rows"]:
        if row["runtime"] == "coflux" and row["dress"] == "plain" and row["workload"] in BY_HAND and \
                BY_HAND[row["workload"]].items() <= row["params"].items():
            row = row | {"dress": "expert"}
            if any(_is_same_row(row, each) for each in data["rows"]):
                continue
        rows.append(row)
    return data | {"rows": rows}


def _is_same_row(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[name] == other[name] for name in ("workload", "params", "runtime", "dress", "malloc", "threads"))


def _from_1(data: dict[str, Any]) -> dict[str, Any]:
    """Schema 1 had one dress, glibc's malloc, bootstrap intervals, and the load of the machine in no place."""
    return data | {
        "schema": 2, "suite": None, "notes": ["made by an earlier version of the lab; its load is not known"],
        "busy": {"at_start": None, "repetitions": 0, "under_load": 0, "discarded": 0},
        "rows": [_row_from_1(row) for row in data["rows"]],
    }


def _row_from_1(row: dict[str, Any]) -> dict[str, Any]:
    samples = row["samples"]
    found = stats.interval(samples)
    # One figure of CPU for all repetitions, and of how much of it is not known: no figure.
    others = {name: value for name, value in row.items() if name != "cpu_ns_per_item"}
    return others | {
        "dress": "plain", "malloc": "glibc", "recommended": True,
        "ci_low": found and found.low, "ci_high": found and found.high, "coverage": found and found.coverage,
        "cpu_samples": [None] * len(samples),
        "cpu_median": None, "cpu_mad": None, "cpu_ci_low": None, "cpu_ci_high": None, "cpu_coverage": None,
        "passes": [1] * len(samples),
        "timed_ms": min(samples) * row["items"] / 1e6 if samples else None, "loads": [None] * len(samples), "discarded": 0,
    }
