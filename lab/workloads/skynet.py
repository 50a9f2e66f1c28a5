"""A wide fork-join tree."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, sum_below, word
from workloads.headline import TIME, Headline

NAME = "skynet"
DESCRIPTION = ("A tree in which every node has ten children; each leaf returns its number, each node the sum of its "
               "children.")
ITEM = "one task of the tree"
HEADLINE = Headline(TIME, "the benchmark is known by the time of its tree")
THREADS = None

# From the field's suite, not from a seed document.
SEED: list[dict[str, Any]] = []


def cases(size: str) -> list[dict[str, Any]]:
    return [{"depth": {"smoke": 3, "base": 6, "large": 8}[size]}]


# The cases of the suite quick. At base size a repetition of a slow runtime takes 2 s.
QUICK = [{"depth": 5}]


def items(params: dict[str, Any], threads: int) -> int:
    return (10 ** (params["depth"] + 1) - 1) // 9


def expected(params: dict[str, Any], threads: int) -> str:
    return word(sum_below(10 ** params["depth"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
