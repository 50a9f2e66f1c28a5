"""An asynchronous call that completes at once and that the optimiser cannot fold."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import TIME, Headline

NAME = "call_overhead"
DESCRIPTION = "One task awaits asynchronous calls; each takes the last one's result and returns it plus one."
ITEM = "one awaited call"
HEADLINE = Headline(TIME, "a call that suspends nowhere should cost what a function does, and each item is such a call")
# A chain of dependent calls has no second thread to use.
THREADS = 1

SEED = [{"calls": 100_000}]


def cases(size: str) -> list[dict[str, Any]]:
    return [{"calls": {"smoke": 50_000, "base": 5_000_000, "large": 50_000_000}[size]}]


# The cases of the suite quick.
QUICK = [{"calls": 1_000_000}]


def items(params: dict[str, Any], threads: int) -> int:
    return params["calls"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(params["calls"])


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
