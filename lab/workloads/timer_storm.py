"""Many sleepers at once."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import TIME, Headline

NAME = "timer_storm"
DESCRIPTION = ("Tasks sleep at once, each for its own time from 1 to 50 ms, and check that they did not wake early; a "
               "task on a worker makes and awaits them.")
ITEM = "one sleeper"
HEADLINE = Headline(TIME, "so many sleepers take longer to make and to wake than the longest sleep, so the time is the runtime's")
THREADS = None

# From the targets of this project, not from a seed document.
SEED: list[dict[str, Any]] = []

# A prime, so that neighbours sleep for different times and every time occurs.
STRIDE = 7_919


def cases(size: str) -> list[dict[str, Any]]:
    count = {"smoke": 1_000, "base": 200_000, "large": 1_000_000}[size]
    return [{"count": count, "shortest_us": 1_000, "longest_us": 50_000}]


# The cases of the suite quick. At base size a repetition of a slow runtime takes 2 s.
QUICK = [{"count": 100_000, "shortest_us": 1_000, "longest_us": 50_000}]


def items(params: dict[str, Any], threads: int) -> int:
    return params["count"]


def expected(params: dict[str, Any], threads: int) -> str:
    """The microseconds of all; a sleeper that woke early adds nothing."""
    shortest, span = params["shortest_us"], params["longest_us"] - params["shortest_us"] + 1
    return word(sum(shortest + i * STRIDE % span for i in range(params["count"])))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
