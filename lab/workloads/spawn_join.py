"""Many tasks at once, made and awaited by a task that runs on a worker."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, sum_below, word

NAME = "spawn_join"
DESCRIPTION = ("A task on a worker creates and submits tasks, keeps their handles (spawn) and then awaits them all "
               "(join).")
ITEM = "one task"
THREADS = None

PHASES = ("spawn", "join", "total")


def _phases(count: int) -> list[dict[str, Any]]:
    return [{"count": count, "phase": phase} for phase in PHASES]


SEED = _phases(10_000) + _phases(50_000)


def cases(size: str) -> list[dict[str, Any]]:
    if size == "smoke":
        return _phases(1_000)
    if size == "base":
        return _phases(10_000) + _phases(50_000)
    return [{"count": 1_000_000, "phase": "total"}]


def items(params: dict[str, Any], threads: int) -> int:
    return params["count"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(sum_below(params["count"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
