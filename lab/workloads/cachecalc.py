"""Tasks that compute on one cache, wait, and compute on it again."""

from __future__ import annotations

from typing import Any

from workloads.answers import cache_of, mismatch, word
from workloads.headline import TIME, Headline

NAME = "cachecalc"
DESCRIPTION = ("Tasks compute on one cache under mutual exclusion, wait by a timer and compute on it once more; the idiom "
               "says what excludes them, and compute is the same work without tasks, waits or locks.")
ITEM = "one task: two calculations and a wait"
THREADS = None

IDIOMS = ("compute", "worker", "strand", "mutex")
TASKS = 1_000


def _cases(rounds: int, waits: tuple[int, ...]) -> list[dict[str, Any]]:
    return [{"idiom": idiom, "rounds": rounds, "tasks": TASKS, "wait_us": wait} for wait in waits for idiom in IDIOMS]


# EvaluateIPC repeats a round for some tenths of a second. In the first milliseconds two threads may share a CPU.
SEED = _cases(100, (8, 64))
# A round of all runtimes takes 3 to 9 s.
LONG = SEED


def cases(size: str) -> list[dict[str, Any]]:
    return _cases({"smoke": 2, "base": 100, "large": 1_000}[size], (8,))


# The cases of the suite quick. At base size a repetition of threads takes 2 s.
QUICK = _cases(10, (8,))[3:4]


def headline(params: dict[str, Any]) -> Headline:
    if params.get("idiom") == "compute":
        return Headline(None, "it is there to be subtracted: a loop without tasks", time_of="the compiler's")
    return Headline(TIME, "calculations exclude each other, so all that a runtime adds to them is in the time")


def items(params: dict[str, Any], threads: int) -> int:
    return params["rounds"] * params["tasks"]


def expected(params: dict[str, Any], threads: int) -> str:
    """What all caches hold, each at the end of its round."""
    return word(params["rounds"] * cache_of(2 * params["tasks"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
