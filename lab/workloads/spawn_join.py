"""Many tasks at once, made and awaited by a task that runs on a worker."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, sum_below, word
from workloads.headline import TIME, Headline

NAME = "spawn_join"
DESCRIPTION = "A task on a worker creates and submits tasks, keeps their handles and then awaits them all."
ITEM = "one task"
HEADLINE = Headline(TIME, "the document asks what a burst of tasks takes")
THREADS = None
# The document's tests have one thread, whatever they say of themselves.
SEED_THREADS = (1,)

SEED = [{"count": 10_000}, {"count": 50_000}]


def cases(size: str) -> list[dict[str, Any]]:
    return [{"count": count} for count in {"smoke": (1_000,), "base": (10_000, 50_000), "large": (1_000_000,)}[size]]


# The cases of the suite quick.
QUICK = [{"count": 5_000}]


def items(params: dict[str, Any], threads: int) -> int:
    return params["count"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(sum_below(params["count"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
