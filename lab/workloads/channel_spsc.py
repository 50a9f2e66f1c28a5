"""A bounded channel between one producer and one consumer."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, ordered_sum_to, word
from workloads.headline import TIME, Headline

NAME = "channel_spsc"
DESCRIPTION = ("One task sends numbers through a bounded channel, one at a time, and another receives them and checks "
               "their order.")
ITEM = "one number sent and received"
HEADLINE = Headline(TIME, "a channel is there to let many numbers through, and each item is one")
THREADS = None

CAPACITY = 4_096


def _case(count: int) -> dict[str, Any]:
    return {"count": count, "capacity": CAPACITY}


SEED = [_case(count) for count in (10_000, 100_000, 1_000_000)]


def cases(size: str) -> list[dict[str, Any]]:
    return [_case({"smoke": 20_000, "base": 1_000_000, "large": 10_000_000}[size])]


# The cases of the suite quick.
QUICK = [_case(100_000)]


def items(params: dict[str, Any], threads: int) -> int:
    return params["count"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(ordered_sum_to(params["count"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
