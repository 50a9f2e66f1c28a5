"""Going to the back of the scheduler's queue and coming back."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import TIME, Headline

NAME = "yield"
DESCRIPTION = "Tasks on the runtime each yield to the scheduler again and again."
ITEM = "one yield"
HEADLINE = Headline(TIME, "a yield does nothing but go through the scheduler")
THREADS = None
# The document's tests have one thread, whatever they say of themselves.
SEED_THREADS = (1,)

SEED = [{"tasks": 1, "yields": 5_000}, {"tasks": 1, "yields": 500_000}, {"tasks": 8, "yields": 20_000}]


def cases(size: str) -> list[dict[str, Any]]:
    yields = {"smoke": (1_000, 1_000), "base": (200_000, 50_000), "large": (2_000_000, 500_000)}[size]
    return [{"tasks": tasks, "yields": each} for tasks, each in zip((1, 8), yields)]


# The cases of the suite quick.
QUICK = [{"tasks": 8, "yields": 15_000}]


def items(params: dict[str, Any], threads: int) -> int:
    return params["tasks"] * params["yields"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(params["tasks"] * params["yields"])


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
