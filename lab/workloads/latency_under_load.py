"""How long short tasks take from when they should have begun, at several loads."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, sum_below, word
from workloads.headline import P99, Headline

NAME = "latency_under_load"
DESCRIPTION = ("A thread outside starts tasks on the pool at the times of a Poisson process, whatever the pool does meanwhile: an open "
               "loop. A task computes for some microseconds. The load is what part of the workers' time that is.")
ITEM = "one task, from its intended arrival to its end: the figure is the mean latency"
HEADLINE = Headline(P99, "the load is given, and so is the throughput: what differs is how late the late ones are")
THREADS = None
# The one that starts the tasks. On a CPU of a worker it would be late by that one's time slice.
THREADS_BESIDE = 1

# From the audit of this lab, not from a seed document.
SEED: list[dict[str, Any]] = []

LOADS = (20, 50, 80)
WORK_US = 20


def cases(size: str) -> list[dict[str, Any]]:
    # Each load lasts equally long: with two workers 0.02, 0.25 and 2.5 seconds.
    tasks_per_percent = {"smoke": 20, "base": 250, "large": 2_500}[size]
    return [{"load_percent": load, "work_us": WORK_US, "count": load * tasks_per_percent} for load in LOADS]


# The cases of the suite quick: 60 ms in two passes have enough tasks for the p99 of a repetition.
QUICK = [{"load_percent": 50, "work_us": WORK_US, "count": 3_000}]


def items(params: dict[str, Any], threads: int) -> int:
    return params["count"]


def expected(params: dict[str, Any], threads: int) -> str:
    """The numbers of the tasks that ended, from 1 on."""
    return word(sum_below(params["count"] + 1))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
