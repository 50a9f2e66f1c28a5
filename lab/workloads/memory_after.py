"""What is left of a burst of tasks."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, sum_below, word
from workloads.headline import KEPT, Headline

NAME = "memory_after"
DESCRIPTION = ("A task on a worker starts tasks, all at once, keeps their handles and awaits them all. The memory of the process is "
               "read when that task has ended, and again when the runtime has been idle for a while.")
ITEM = "one task of the burst"
HEADLINE = Headline(KEPT, "the row asks what memory a burst leaves; what the burst takes is spawn_join's")
THREADS = None

# From the audit of this lab, not from a seed document.
SEED: list[dict[str, Any]] = []

# Longer than the second after which Coflux gives back what is idle.
CASES = {"smoke": (2_000, 20), "base": (200_000, 1_200), "large": (1_000_000, 2_000)}


def cases(size: str) -> list[dict[str, Any]]:
    count, idle_ms = CASES[size]
    return [{"count": count, "idle_ms": idle_ms}]


def items(params: dict[str, Any], threads: int) -> int:
    return params["count"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(sum_below(params["count"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
