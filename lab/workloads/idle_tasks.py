"""What tasks cost that sleep."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import BYTES_EACH, Headline

NAME = "idle_tasks"
DESCRIPTION = ("A task on a worker starts tasks that sleep, each for the same time. When all of them sleep and none has woken, the "
               "memory of the process is read. Then they wake, are awaited and counted.")
ITEM = "one task, from the first spawn until all of them sleep"
HEADLINE = Headline(BYTES_EACH, "the row asks what a task that sleeps holds",
                    time_of="a burst's, which spawn_join measures")
THREADS = None

# From the audit of this lab, not from a seed document.
SEED: list[dict[str, Any]] = []

# Long enough that the slowest runtime has made all before the first wakes; what is timed ends before.
CASES = {"smoke": (500, 150), "base": (100_000, 1_000), "large": (1_000_000, 10_000)}


def cases(size: str) -> list[dict[str, Any]]:
    count, sleep_ms = CASES[size]
    return [{"count": count, "sleep_ms": sleep_ms}]


# The cases of the suite quick: half as many tasks have all begun to sleep after half of the time.
QUICK = [{"count": 50_000, "sleep_ms": 500}]


def items(params: dict[str, Any], threads: int) -> int:
    return params["count"]


def expected(params: dict[str, Any], threads: int) -> str:
    """The tasks that slept for their whole time; 0 where one had woken before the memory was read."""
    return word(params["count"])


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
