"""A thread that is not of the runtime asks an idle pool and waits for the answer."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, sum_below, word
from workloads.headline import P50, Headline

NAME = "outside_wake"
DESCRIPTION = ("The main thread starts a task on the pool, which has nothing else to do, blocks until it has the task's answer, "
               "waits for a gap, and asks again.")
ITEM = "one request, from before the task is made until the answer is there; the gap is not in it"
HEADLINE = Headline(P50, "the usual answer is the runtime's; the mean has what the system did in the worst ones")
# The workers are a parameter. The other CPU is for the thread that asks, where there is another.
THREADS = 2

# From the audit of this lab, not from a seed document.
SEED: list[dict[str, Any]] = []


def _case(workers: int, cpus: int, gap_us: int, requests: int) -> dict[str, Any]:
    return {"workers": workers, "cpus": cpus, "gap_us": gap_us, "requests": requests}


# A request after a second in which the pool had nothing to do: workers sleep deeply, and their memory has gone cold. The
# warm-up is the request before it.
IDLE_US = 1_000_000
AFTER_IDLENESS = [_case(2, 2, IDLE_US, 1)]


def cases(size: str) -> list[dict[str, Any]]:
    requests = {"smoke": 100, "base": 2_000, "large": 20_000}[size]
    often = [_case(workers, cpus, gap, requests) for workers, cpus in ((1, 1), (1, 2), (2, 2)) for gap in (0, 100)]
    return often if size == "smoke" else often + AFTER_IDLENESS


# The cases of the suite quick: enough requests for the p99 of a repetition.
QUICK = [_case(2, 2, 100, 1_000)]


def items(params: dict[str, Any], threads: int) -> int:
    return params["requests"]


def expected(params: dict[str, Any], threads: int) -> str:
    """Request i is answered by i + 1."""
    return word(sum_below(params["requests"]) + params["requests"])


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
