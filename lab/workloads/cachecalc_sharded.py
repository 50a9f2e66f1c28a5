"""Tasks that compute, wait and compute, with a cache for each thread."""

from __future__ import annotations

from typing import Any

from workloads.answers import cache_of, mismatch, word
from workloads.headline import TIME, Headline

NAME = "cachecalc_sharded"
DESCRIPTION = ("The work of cachecalc spread over shards: each has a thread and a cache of its own, and its tasks "
               "compute, wait and compute there, so that nothing need be locked.")
ITEM = "one task: two calculations and a wait"
HEADLINE = Headline(TIME, "shards are there to have the work of all processors done in less time")
# A shard for each of the CPUs that a run has. The document's container had four: there are the same number of tasks, and
# the shards share the CPUs.
SHARDS = 2
THREADS = SHARDS
SHARDS_OF_THE_DOCUMENT = 4

# Of all shards together.
TASKS = 1_000


def _case(rounds: int, wait: int, shards: int = SHARDS) -> dict[str, Any]:
    return {"shards": shards, "rounds": rounds, "tasks": TASKS // shards, "wait_us": wait}


# Fewer rounds of four shards tell what one takes as well, and the suite has an hour.
SEED = [_case(100, wait) for wait in (8, 64)] + [_case(20, wait, SHARDS_OF_THE_DOCUMENT) for wait in (8, 64)]
# A repetition of new threads takes 9 and 15 s.
LONG = SEED


def cases(size: str) -> list[dict[str, Any]]:
    return [_case({"smoke": 2, "base": 100, "large": 1_000}[size], 8)]


# The cases of the suite quick.
QUICK = [_case(4, 8)]


def items(params: dict[str, Any], threads: int) -> int:
    return params["shards"] * params["rounds"] * params["tasks"]


def expected(params: dict[str, Any], threads: int) -> str:
    """What the caches of all shards hold, each at the end of its round."""
    return word(params["shards"] * params["rounds"] * cache_of(2 * params["tasks"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
