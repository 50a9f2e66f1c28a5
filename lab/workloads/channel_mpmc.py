"""A bounded channel between several producers and several consumers."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, sum_below, word
from workloads.headline import TIME, Headline

NAME = "channel_mpmc"
DESCRIPTION = ("Tasks send numbers through one bounded channel, one at a time, and as many others receive and add "
               "them until there are no more.")
ITEM = "one number sent and received"
HEADLINE = Headline(TIME, "a channel is there to let many numbers through, and each item is one")
THREADS = None


def _case(count: int, capacity: int) -> dict[str, Any]:
    return {"count": count, "capacity": capacity, "producers": 4, "consumers": 4}


SEED = [_case(count, 4_096) for count in (10_000, 100_000, 1_000_000)]


def cases(size: str) -> list[dict[str, Any]]:
    return [_case({"smoke": 20_000, "base": 1_000_000, "large": 10_000_000}[size], 1_024)]


# The cases of the suite quick.
QUICK = [_case(200_000, 1_024)]


def items(params: dict[str, Any], threads: int) -> int:
    """Each producer sends count / producers numbers; a remainder is not sent."""
    return params["count"] // params["producers"] * params["producers"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(sum_below(items(params, threads) + 1))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
