"""One message back and forth between a client and a server, over each way that the system has."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, ordered_sum_to, word
from workloads.headline import TIME, Headline

NAME = "echo"
DESCRIPTION = ("A client sends 19 bytes, a server answers with 19, and only then the client sends the next: one message in "
               "flight, over one connection.")
ITEM = "one round trip"
HEADLINE = Headline(TIME, "one message is in flight, so the time of a round trip is the latency")
# Client and server are two tasks of one thread, or two processes of one thread each.
THREADS = 1

TRANSPORTS = ("tcp", "udp", "unix", "unix_datagram", "pipe")
# Without the kernel between the two, or with it for waking alone: what the others can be held against. No runtime's
# idiom.
REFERENCES = ("shm_spin", "shm_sem")


def _case(transport: str, processes: int, rounds: int) -> dict[str, Any]:
    return {"transport": transport, "processes": processes, "rounds": rounds}


def _matrix(rounds: int) -> list[dict[str, Any]]:
    return [_case(transport, processes, rounds) for transport in TRANSPORTS + REFERENCES for processes in (1, 2)]


SEED = _matrix(1_000)


def cases(size: str) -> list[dict[str, Any]]:
    if size == "smoke":
        return [_case(transport, 1, 50) for transport in TRANSPORTS] + [_case("tcp", 2, 50), _case("shm_sem", 2, 50)]
    if size == "base":
        return [_case("tcp", 1, 5_000), _case("unix", 1, 5_000), _case("tcp", 2, 2_000)]
    return _matrix(50_000)


# The cases of the suite quick.
QUICK = [_case("tcp", 1, 1_000)]


def items(params: dict[str, Any], threads: int) -> int:
    return params["rounds"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(ordered_sum_to(params["rounds"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
