"""Waits one after the other: what a wait of some microseconds takes, and whether it burns the time."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import CPU, Headline

NAME = "wait"
DESCRIPTION = ("One task waits again and again, by a timer or by reading /dev/zero until the time is over, and checks "
               "that it did not wait too short.")
ITEM = "one wait"
THREADS = 1

IDIOMS = ("timer", "devzero")


def _cases(count: int, waits: tuple[int, ...]) -> list[dict[str, Any]]:
    return [{"idiom": idiom, "count": count, "wait_us": wait} for wait in waits for idiom in IDIOMS]


# The document on Tokio's dispatcher sleeps for 10 us, on one thread.
SEED = _cases(200, (8, 64)) + [{"idiom": "timer", "count": 200, "wait_us": 10}]


def cases(size: str) -> list[dict[str, Any]]:
    return _cases({"smoke": 20, "base": 500, "large": 5_000}[size], (64,))


# The cases of the suite quick. A repetition of 500 waits that are rounded up to a millisecond takes more than 1 s.
QUICK = _cases(100, (64,))[:1]


def headline(params: dict[str, Any]) -> Headline:
    """A wait takes what it was asked to take, and what the system's timer is late by."""
    if params.get("idiom") == "timer":
        return Headline(CPU, "a wait should cost nothing", time_of="the timer's")
    return Headline(None, "the wait is spent in reads of a device", time_of="the clock's")


def items(params: dict[str, Any], threads: int) -> int:
    return params["count"]


def expected(params: dict[str, Any], threads: int) -> str:
    """The microseconds of all waits; one that ended early adds nothing."""
    return word(params["count"] * params["wait_us"])


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
