"""A runtime with more threads than the machine has CPUs."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, sum_below, word
from workloads.headline import TIME, Headline

NAME = "oversubscribed"
DESCRIPTION = ("A pool with many more threads than CPUs. channel: four tasks send numbers through one channel of 16 places, and four "
               "receive them. fork: a task starts tasks, all at once, and awaits them all.")
ITEM = "one number through the channel, or one task"
HEADLINE = Headline(TIME, "what a crowd of threads costs shows in the time of what they do together")
# The workers are a parameter; the process has two CPUs.
THREADS = 2

# From the audit of this lab, not from a seed document.
SEED: list[dict[str, Any]] = []

SENDERS = 4
# Of size large are the steps by which a pool outgrows its two CPUs.
WORKERS = {"smoke": (8, 64), "base": (8, 64, 1_000), "large": (1, 2, 4, 8, 16, 32, 64, 1_000)}


def cases(size: str) -> list[dict[str, Any]]:
    count = {"smoke": 1_000, "base": 50_000, "large": 500_000}[size]
    return [{"idiom": idiom, "workers": workers, "count": count} for idiom in ("channel", "fork") for workers in WORKERS[size]]


# The cases of the suite quick.
QUICK = [{"idiom": "fork", "workers": 64, "count": 20_000}]


def items(params: dict[str, Any], threads: int) -> int:
    return params["count"] // SENDERS * SENDERS if params["idiom"] == "channel" else params["count"]


def expected(params: dict[str, Any], threads: int) -> str:
    """The numbers from 1 on that went through the channel; or each task's own number, from 0 on."""
    done = items(params, threads)
    return word(sum_below(done + 1 if params["idiom"] == "channel" else done))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
