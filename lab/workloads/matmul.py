"""Fork-join with work in the leaves: a matrix product by quadrants."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch
from workloads.headline import TIME, Headline

NAME = "matmul"
DESCRIPTION = ("The product of two n by n matrices, no two blocks of which are alike, by quadrants: four tasks, join, four "
               "tasks, join, down to blocks of 32 by 32.")
ITEM = "one product of two blocks of 32 by 32"
HEADLINE = Headline(TIME, "the product is wanted soon, and a runtime may only add to its time")
THREADS = None

# From the field's suite, not from a seed document.
SEED: list[dict[str, Any]] = []

BLOCK = 32


def cases(size: str) -> list[dict[str, Any]]:
    return [{"n": {"smoke": 128, "base": 512, "large": 2_048}[size]}]


def items(params: dict[str, Any], threads: int) -> int:
    return (params["n"] // BLOCK) ** 3


def expected(params: dict[str, Any], threads: int) -> str:
    """How many elements of the product are right: all of them. The adapter compares them outside the clock."""
    return str(params["n"] ** 2)


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
