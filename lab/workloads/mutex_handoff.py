"""A lock that goes from task to task."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import TIME, Headline

NAME = "mutex_handoff"
DESCRIPTION = ("Tasks take one lock again and again and count under it; each keeps it the first time until others "
               "wait, so that a fair lock goes from task to task.")
ITEM = "one lock and unlock"
HEADLINE = Headline(TIME, "each hand-over waits for the one before, so its time is what bounds all tasks")
THREADS = None

# The document's lock that nobody else wants; the others are targets of this project.
SEED = [{"tasks": 1, "locks": 100_000}]
SEED_THREADS = (1,)


def cases(size: str) -> list[dict[str, Any]]:
    total = {"smoke": 2_000, "base": 100_000, "large": 1_000_000}[size]
    return [{"tasks": tasks, "locks": total // tasks} for tasks in (2, 8)]


# The cases of the suite quick. At base size a repetition of threads takes 3 s.
QUICK = [{"tasks": 8, "locks": 2_500}]


def items(params: dict[str, Any], threads: int) -> int:
    return params["tasks"] * params["locks"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(params["tasks"] * params["locks"])


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
