"""Tasks that threads outside of the runtime start on its pool."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, sum_below, word
from workloads.headline import TIME, Headline

NAME = "inject"
DESCRIPTION = ("Threads that are not of the runtime, all at once, start tasks on its pool and do not wait for them; each task adds "
               "its number to the sum of the thread that started it.")
ITEM = "one task, until the last of all has run"
HEADLINE = Headline(TIME, "threads outside are there to get their tasks run, as many as can be")
THREADS = None

# From the audit of this lab, not from a seed document.
SEED: list[dict[str, Any]] = []

PRODUCERS = (1, 2, 8)


def cases(size: str) -> list[dict[str, Any]]:
    count = {"smoke": 8_000, "base": 200_000, "large": 2_000_000}[size]
    return [{"producers": producers, "count": count} for producers in PRODUCERS]


# The cases of the suite quick.
QUICK = [{"producers": 2, "count": 100_000}]


def items(params: dict[str, Any], threads: int) -> int:
    return params["count"] // params["producers"] * params["producers"]


def expected(params: dict[str, Any], threads: int) -> str:
    """The numbers from 1 on, each once."""
    return word(sum_below(items(params, threads) + 1))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
