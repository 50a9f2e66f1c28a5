"""A channel without a buffer: a send ends when its value was taken."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, ordered_sum_to, word
from workloads.headline import TIME, Headline

NAME = "channel_rendezvous"
DESCRIPTION = ("One task hands numbers to another through a channel without a buffer; each send ends when the other "
               "task has taken the number.")
ITEM = "one number handed over"
HEADLINE = Headline(TIME, "each hand-over waits for the other task, so its time is the latency too")
THREADS = None

SEED = [{"count": 10_000}, {"count": 100_000}]
LONG = SEED[1:]


def cases(size: str) -> list[dict[str, Any]]:
    return [{"count": {"smoke": 1_000, "base": 100_000, "large": 1_000_000}[size]}]


# The cases of the suite quick. At base size a repetition of threads takes 8 s.
QUICK = [{"count": 5_000}]


def items(params: dict[str, Any], threads: int) -> int:
    return params["count"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(ordered_sum_to(params["count"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
