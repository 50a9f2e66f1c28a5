"""Forks on a pool: many small children of a few parents."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, sum_below, word
from workloads.headline import TIME, Headline

NAME = "fork_pool"
DESCRIPTION = ("One sub-task a thread makes its share of trivial forks on the pool and awaits each at once (immediate) "
               "or joins them all at the end (final).")
ITEM = "one fork"
HEADLINE = Headline(TIME, "a fork that does nothing is all cost of the pool")
THREADS = None

# The document's sweep.
SWEEP = (100_000, 500_000, 1_000_000, 3_000_000, 5_000_000, 7_000_000, 10_000_000)
SEED = [{"mode": mode, "count": count} for mode in ("immediate", "final") for count in SWEEP]
# A round of all runtimes takes 5 to 60 s.
LONG = [params for params in SEED if params["count"] >= 1_000_000]


def cases(size: str) -> list[dict[str, Any]]:
    count = {"smoke": 20_000, "base": 1_000_000, "large": 10_000_000}[size]
    return [{"mode": mode, "count": count} for mode in ("immediate", "final")]


# The cases of the suite quick.
QUICK = [{"mode": "immediate", "count": 200_000}]


def items(params: dict[str, Any], threads: int) -> int:
    """Each sub-task makes count / threads forks, so that all do the same; a remainder is not made."""
    return params["count"] // threads * threads


def expected(params: dict[str, Any], threads: int) -> str:
    return word(threads * sum_below(params["count"] // threads))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
