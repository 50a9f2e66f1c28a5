"""Chains in which every stage waits for its value: each step is a suspension and a resumption."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, sum_below, word
from workloads.headline import TIME, Headline

NAME = "suspend_chain"
DESCRIPTION = ("Tasks stand in a row, each between two channels with one place. The first sends a value and waits until it has "
               "gone through all of them, each of which waited for it; then the next value follows.")
ITEM = "one stage of one value: a task that waited is resumed, and the next one's value is sent"
HEADLINE = Headline(TIME, "each stage waits for the one before, so its time is what a hand-over takes")
THREADS = None

# From the audit of this lab, not from a seed document: `pipeline` hardly ever suspends.
SEED: list[dict[str, Any]] = []


def _case(chains: int, depth: int, values: int) -> dict[str, Any]:
    return {"chains": chains, "depth": depth, "values": values}


def cases(size: str) -> list[dict[str, Any]]:
    values = {"smoke": 50, "base": 2_000, "large": 20_000}[size]
    return [_case(chains, depth, values) for chains, depth in ((1, 5), (8, 5), (8, 20))]


# The cases of the suite quick.
QUICK = [_case(8, 20, 400)]


def items(params: dict[str, Any], threads: int) -> int:
    return params["chains"] * params["depth"] * params["values"]


def expected(params: dict[str, Any], threads: int) -> str:
    """Value i, from 0 on, comes out as i and one for each stage."""
    values = params["values"]
    return word(params["chains"] * (sum_below(values) + values * params["depth"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
