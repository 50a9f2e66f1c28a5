"""The whole life of a child that never leaves its creator's thread."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, sum_below, word
from workloads.headline import TIME, Headline

NAME = "fork_noop"
DESCRIPTION = "One root awaits trivial children one after the other, each created, run inline, awaited and destroyed."
ITEM = "one child"
HEADLINE = Headline(TIME, "a child that does nothing is all cost of its frame and its await")
# The root and its children share one thread by definition.
THREADS = 1

RESOURCES = ("monotonic", "fresh", "pool", "frame_pool")
# Document 000 has these counts on the monotonic resource, document 001 on the pool. fresh is the monotonic one on pages
# that nobody touched before.
SWEEP = (100_000, 500_000, 1_000_000, 3_000_000, 5_000_000, 7_000_000, 10_000_000)
SEED = [{"resource": resource, "count": count} for resource in ("monotonic", "fresh", "pool") for count in SWEEP]


def cases(size: str) -> list[dict[str, Any]]:
    if size == "base":
        sizes = (("monotonic", 100_000), ("monotonic", 1_000_000), ("pool", 1_000_000), ("frame_pool", 10_000_000))
        return [{"resource": resource, "count": count} for resource, count in sizes]
    count = {"smoke": 10_000, "large": 10_000_000}[size]
    return [{"resource": resource, "count": count} for resource in RESOURCES]


# The cases of the suite quick.
QUICK = [{"resource": "frame_pool", "count": 1_000_000}]


def items(params: dict[str, Any], threads: int) -> int:
    return params["count"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(sum_below(params["count"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
