"""The fork-join tree with the least work in it."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import TIME, Headline

NAME = "fib"
DESCRIPTION = "fib(n) forks fib(n - 1), awaits fib(n - 2) inline, joins and adds, down to n < 2 without a cutoff."
ITEM = "one call of fib"
HEADLINE = Headline(TIME, "a tree of calls that compute nothing is all cost of forks and joins")
THREADS = None

# From the field's suite, not from a seed document.
SEED: list[dict[str, Any]] = []


def fibonacci(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def cases(size: str) -> list[dict[str, Any]]:
    return [{"n": {"smoke": 18, "base": 32, "large": 39}[size]}]


# The cases of the suite quick. At base size a repetition of a slow runtime takes 14 s.
QUICK = [{"n": 24}]


def items(params: dict[str, Any], threads: int) -> int:
    return 2 * fibonacci(params["n"] + 1) - 1


def expected(params: dict[str, Any], threads: int) -> str:
    return word(fibonacci(params["n"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
