"""A background job beside a maker that forks and awaits."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import P99, Headline

NAME = "fairness"
DESCRIPTION = ("A task starts a background job that it does not await, a timer of 1 ms, or has a thread outside start a job; then it "
               "makes and awaits one short child after the other until the job has begun; the next job follows.")
ITEM = "one background job, from the moment when it is due until it has begun"
HEADLINE = Headline(P99, "fairness is a promise on the late ones: no job waits for long")
# One thread tells most: on more, an idle one takes the job. But a workload has one number or leaves it to the run.
THREADS = None

# From the laws of this project, not from a seed document.
SEED: list[dict[str, Any]] = []


def cases(size: str) -> list[dict[str, Any]]:
    jobs = {"smoke": 5, "base": 200, "large": 2_000}[size]
    return [_case(waits, jobs, step) for waits in ("fork", "timer", "injected") for step in (0, 20)]


def _case(waits: str, jobs: int, step_us: int) -> dict[str, Any]:
    return {"waits": waits, "jobs": jobs, "step_us": step_us}


# The cases of the suite quick. A timer takes a millisecond, so that a pass has fewer of them.
QUICK = [_case("fork", 200, 20), _case("timer", 50, 20), _case("injected", 50, 20)]


def items(params: dict[str, Any], threads: int) -> int:
    return params["jobs"]


def expected(params: dict[str, Any], threads: int) -> str:
    """The jobs that began in time; after one that did not, the maker gives up and answers less."""
    return word(params["jobs"])


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
