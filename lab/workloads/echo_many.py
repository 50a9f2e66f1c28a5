"""An echo server under the load of a client that is the same for all."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, ordered_sum_to, word
from workloads.headline import P99, TIME, Headline

NAME = "echo_many"
DESCRIPTION = ("A server of one thread sends back what comes over many TCP connections. The client is one program for all "
               "runtimes, on another CPU where there is one.")
ITEM = "one request of 64 bytes"
# The server's. The client has a CPU of its own where there are two.
THREADS = 1

BYTES = 64

# Not in a seed document.
SEED: list[dict[str, Any]] = []


def _closed(connections: int, requests: int) -> dict[str, Any]:
    """A connection sends its next request when it has the answer to the last."""
    return {"connections": connections, "mode": "closed", "requests": requests, "bytes": BYTES, "rate": 0}


def _open(connections: int, requests: int, rate: int) -> dict[str, Any]:
    """Requests are sent at their times, `rate` in a second, whatever is still to be answered."""
    return {"connections": connections, "mode": "open", "requests": requests, "bytes": BYTES, "rate": rate}


def cases(size: str) -> list[dict[str, Any]]:
    if size == "smoke":
        return [_closed(20, 400), _open(20, 200, 20_000)]
    if size == "base":
        return [_closed(1, 4_000), _closed(20, 20_000), _closed(1_000, 20_000), _closed(10_000, 20_000),
                *(_open(connections, 5_000, 50_000) for connections in (20, 1_000))]
    return [*(_closed(connections, 200_000) for connections in (1, 20, 1_000, 10_000)),
            *(_open(connections, 100_000, 50_000) for connections in (1, 20, 1_000, 10_000))]


# The cases of the suite quick.
QUICK = [_closed(20, 5_000)]


def headline(params: dict[str, Any]) -> Headline:
    if params.get("mode") == "open":
        return Headline(P99, "the rate is given, so how late the late answers are is what differs", time_of="the client's rate")
    return Headline(TIME, "as many requests are in flight as there are connections, so their time is the throughput")


def items(params: dict[str, Any], threads: int) -> int:
    return params["requests"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(ordered_sum_to(params["requests"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
