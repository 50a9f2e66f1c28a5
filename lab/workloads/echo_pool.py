"""An echo server on a pool, alone and beside a task that computes."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, ordered_sum_to, word
from workloads.headline import P99, TIME, Headline

NAME = "echo_pool"
DESCRIPTION = ("A server on a pool of some workers sends back what comes over many TCP connections, in some cases beside a task "
               "that computes for long at a time. The client is that of echo_many.")
ITEM = "one request of 64 bytes"
# The workers are a parameter. One may use both CPUs as two do, and the client shares them.
THREADS = 2

BYTES = 64
CONNECTIONS = 20

# Not in a seed document.
SEED: list[dict[str, Any]] = []


def _case(workers: int, compute_us: int, mode: str, requests: int, rate: int) -> dict[str, Any]:
    return {"workers": workers, "compute_us": compute_us, "connections": CONNECTIONS, "mode": mode, "requests": requests,
            "bytes": BYTES, "rate": rate}


def _busy(requests: int, rate: int = 2_000) -> dict[str, Any]:
    """The task computes for 25 ms at a time, and few requests come."""
    return _case(2, 25_000, "open", requests, rate)


def cases(size: str) -> list[dict[str, Any]]:
    if size == "smoke":
        return [_case(2, 0, "closed", 400, 0), _busy(100)]
    closed, busy = {"base": (20_000, 1_000), "large": (200_000, 10_000)}[size]
    return [*(_case(workers, 0, "closed", closed, 0) for workers in (1, 2)), _busy(busy)]


# The cases of the suite quick: the requests that the p99 of a repetition needs come in half of the time. echo_many has
# the cost of a server alone.
QUICK = [_busy(1_000, 4_000)]


def headline(params: dict[str, Any]) -> Headline:
    if params.get("mode", "open") == "open":
        return Headline(P99, "a task that computes shall not keep requests waiting; their rate is given",
                        time_of="the client's rate")
    return Headline(TIME, "as many requests are in flight as there are connections, so their time is the throughput")


def items(params: dict[str, Any], threads: int) -> int:
    return params["requests"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(ordered_sum_to(params["requests"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
