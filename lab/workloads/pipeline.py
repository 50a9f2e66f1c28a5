"""Chains of nested forks, each awaited at once: a runtime that runs such a fork in place never suspends."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import TIME, Headline

NAME = "pipeline"
DESCRIPTION = ("Tasks on the pool each run chains in sequence; a chain is nested awaited forks, "
               "stage k awaits stage k + 1. Where a fork runs in place of its await nothing suspends: suspend_chain does.")
ITEM = "one whole chain"
HEADLINE = Headline(TIME, "the document counts chains in a second")
THREADS = None


def _case(concurrency: int, depth: int, items_each: int) -> dict[str, Any]:
    return {"concurrency": concurrency, "depth": depth, "items": items_each}


SEED = [_case(concurrency, depth, 1_000) for concurrency, depth in
        ((1, 5), (4, 10), (8, 10), (16, 10), (8, 5), (8, 20))]


def cases(size: str) -> list[dict[str, Any]]:
    shapes = [(1, 5), (8, 5), (8, 20)]
    if size == "large":
        shapes.append((16, 10))
    return [_case(concurrency, depth, 50 if size == "smoke" else 1_000) for concurrency, depth in shapes]


# The cases of the suite quick.
QUICK = cases("base")[1:2]


def items(params: dict[str, Any], threads: int) -> int:
    return params["concurrency"] * params["items"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(params["concurrency"] * params["items"] * params["depth"])


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
