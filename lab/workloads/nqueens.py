"""A fork-join tree that no two nodes have the same shape in."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch
from workloads.headline import TIME, Headline

NAME = "nqueens"
DESCRIPTION = ("All ways to place n queens on n columns: a node makes a child for each safe row of the next column and "
               "hands it a copy of the board.")
ITEM = "one task of the tree"
HEADLINE = Headline(TIME, "the tree is wanted soon, and its tasks compute little beside what they cost")
THREADS = None

# From the field's suite, not from a seed document.
SEED: list[dict[str, Any]] = []

# By n, from 1: the ways to place the queens, and the boards on the way to them, the empty one included.
SOLUTIONS = (1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712, 365_596)
BOARDS = (2, 3, 6, 17, 54, 153, 552, 2_057, 8_394, 35_539, 166_926, 856_189, 4_674_890, 27_358_553)


def cases(size: str) -> list[dict[str, Any]]:
    return [{"n": {"smoke": 8, "base": 12, "large": 14}[size]}]


# The cases of the suite quick. At base size a repetition of a slow runtime takes 2 s.
QUICK = [{"n": 11}]


def items(params: dict[str, Any], threads: int) -> int:
    return BOARDS[params["n"] - 1]


def expected(params: dict[str, Any], threads: int) -> str:
    return str(SOLUTIONS[params["n"] - 1])


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
