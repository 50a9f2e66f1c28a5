"""Vectors of numbers through an unbounded channel."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import TIME, Headline

NAME = "mpsc_batches"
DESCRIPTION = ("One task fills vectors of numbers and sends them through an unbounded channel of many senders and one "
               "receiver; another receives and adds them.")
ITEM = "one number"
HEADLINE = Headline(TIME, "a channel of batches is there to let many numbers through")
THREADS = None
# The document's tests have one thread, whatever they say of themselves.
SEED_THREADS = (1,)

SEED = [{"batches": 100, "batch": 100}]


def cases(size: str) -> list[dict[str, Any]]:
    return [{"batches": {"smoke": 100, "base": 10_000, "large": 100_000}[size], "batch": 100}]


def items(params: dict[str, Any], threads: int) -> int:
    return params["batches"] * params["batch"]


def expected(params: dict[str, Any], threads: int) -> str:
    """The sum of the k-th vector counts k times; it holds the numbers from (k - 1) * batch + 1 to k * batch."""
    batches, batch = params["batches"], params["batch"]
    return word(sum(k * (batch * batch * (k - 1) + batch * (batch + 1) // 2) for k in range(1, batches + 1)))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
