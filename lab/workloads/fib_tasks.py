"""A thousand tasks that compute: what it costs to give each a thread or a coroutine of its own."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, word
from workloads.fib import fibonacci
from workloads.headline import TIME, Headline

NAME = "fib_tasks"
DESCRIPTION = ("Tasks each compute fib(n) by double recursion on floating-point numbers, from an input that the optimiser "
               "cannot see through: in a loop (sequential), in a thread each, which may be held until all are made, in a coroutine each, or in one generator that "
               "yields each result.")
ITEM = "one task: one fib(n)"
THREADS = None
# The document's tables are for all CPUs and for one.
SEED_THREADS = (1,)

# The document's threads are held until all are made.
SHAPES = ("sequential", "thread", "held_thread", "coroutine", "generator")


def _cases(n: int, tasks: int) -> list[dict[str, Any]]:
    return [{"shape": shape, "n": n, "tasks": tasks} for shape in SHAPES]


SEED = _cases(25, 1_000)
# A repetition takes a second.
LONG = SEED


def cases(size: str) -> list[dict[str, Any]]:
    n, tasks = {"smoke": (12, 50), "base": (20, 1_000), "large": (25, 5_000)}[size]
    return _cases(n, tasks)


# The cases of the suite quick.
QUICK = cases("base")[2:3]


def headline(params: dict[str, Any]) -> Headline:
    if params.get("shape") == "sequential":
        return Headline(None, "it is there to be subtracted: a loop without tasks", time_of="the compiler's")
    return Headline(TIME, "the document asks what a thread or a coroutine adds to a computation")


def items(params: dict[str, Any], threads: int) -> int:
    return params["tasks"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(params["tasks"] * fibonacci(params["n"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
