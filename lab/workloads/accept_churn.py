"""Connections that live for one byte each way."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import TIME, Headline

NAME = "accept_churn"
DESCRIPTION = ("A server of one thread accepts a TCP connection, reads a byte, answers with the next one and closes. The "
               "client is one program for all runtimes, on another CPU where there is one.")
ITEM = "one connection"
HEADLINE = Headline(TIME, "a server of short connections is chosen by how many of them it takes in a second")
# The server's. The client has a CPU of its own where there are two.
THREADS = 1

# Not in a seed document.
SEED: list[dict[str, Any]] = []


def _case(connections: int, in_flight: int) -> dict[str, Any]:
    return {"connections": connections, "in_flight": in_flight}


def cases(size: str) -> list[dict[str, Any]]:
    if size == "large":
        return [_case(50_000, in_flight) for in_flight in (1, 16)]
    return [_case({"smoke": 100, "base": 4_000}[size], 16)]


# The cases of the suite quick.
QUICK = [_case(1_000, 16)]


def items(params: dict[str, Any], threads: int) -> int:
    return params["connections"]


def expected(params: dict[str, Any], threads: int) -> str:
    """Connection k, counted from 1, sends the byte k and counts k times what came back, the byte k + 1."""
    return word(sum(number * ((number + 1) % 256) for number in range(1, params["connections"] + 1)))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
