"""The field's suite on sockets: an event loop of clients against an event loop of servers."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, ordered_sum_to, word
from workloads.headline import TIME, Headline

NAME = "io_socket"
DESCRIPTION = ("A thread of clients asks a thread of servers over several TCP connections, one request in flight on each; "
               "connecting and closing are timed too.")
ITEM = "one request and its response"
HEADLINE = Headline(TIME, "the document compares runtimes by the time of its requests")
# One event loop for the clients, one for the servers.
THREADS = 2

# As the suite has them.
REQUEST, RESPONSE = 53, 78

# From the field's suite, not from a seed document.
SEED: list[dict[str, Any]] = []


def _case(connections: int, requests: int) -> dict[str, Any]:
    return {"connections": connections, "requests": requests, "request_bytes": REQUEST, "response_bytes": RESPONSE}


def cases(size: str) -> list[dict[str, Any]]:
    if size == "smoke":
        return [_case(20, 400)]
    return [_case(connections, {"base": 20_000, "large": 100_000}[size]) for connections in (20, 2)]


# The cases of the suite quick.
QUICK = [_case(20, 10_000)]


def items(params: dict[str, Any], threads: int) -> int:
    """The requests are split evenly; a remainder is not sent."""
    return params["requests"] // params["connections"] * params["connections"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(params["connections"] * ordered_sum_to(params["requests"] // params["connections"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
