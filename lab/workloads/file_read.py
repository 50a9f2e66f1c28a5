"""Reads of a file that is in the page cache."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from workloads.answers import WORD, mismatch, word
from workloads.headline import TIME, Headline

NAME = "file_read"
DESCRIPTION = "One task reads blocks of a file that lies in the page cache, one after the other, at places drawn by a formula."
ITEM = "one read of a block"
HEADLINE = Headline(TIME, "one read is in flight, so the time of a read is its latency")
THREADS = 1

BLOCK = 4_096
MIB = 1 << 20

# Not in a seed document.
SEED: list[dict[str, Any]] = []


def _case(file_mib: int, reads: int, pattern: str = "random") -> dict[str, Any]:
    return {"bytes": BLOCK, "file_mib": file_mib, "reads": reads, "pattern": pattern}


def cases(size: str) -> list[dict[str, Any]]:
    if size == "large":
        return [_case(256, 500_000, pattern) for pattern in ("random", "sequential")]
    return [_case(1, 500) if size == "smoke" else _case(16, 50_000)]


# The cases of the suite quick.
QUICK = [_case(16, 10_000)]


def items(params: dict[str, Any], threads: int) -> int:
    return params["reads"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(_sum(json.dumps(params)))


@cache
def _sum(params_as_text: str) -> int:
    """The k-th read, counted from 1, counts k times the first word of its block and its last. A word of the file is its
    own number."""
    params = json.loads(params_as_text)
    words = params["bytes"] // 8
    blocks = params["file_mib"] * MIB // params["bytes"]
    total, state = 0, 1
    for number in range(params["reads"]):
        state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % WORD
        block = (state >> 33 if params["pattern"] == "random" else number) % blocks
        total += (number + 1) * (2 * block * words + words - 1)
    return total


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
