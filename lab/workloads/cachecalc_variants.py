"""The work of cachecalc in the variants of the seed document that no other runtime has a counterpart of."""

from __future__ import annotations

from typing import Any

from workloads.answers import cache_of, mismatch, word
from workloads.headline import TIME, Headline

NAME = "cachecalc_variants"
DESCRIPTION = ("The work of cachecalc as the seed document's programs do it: with the standard library, where a wait reads "
               "/dev/zero and burns its thread's time, and with Boost.Asio in four ways, with Folly in two and with Seastar, where it is "
               "a timer.")
ITEM = "one task: two calculations and a wait"
HEADLINE = Headline(TIME, "the document compares its programs by the time of a round")
# A variant has its own threads, as in the document: eight, one, or the caller's.
THREADS = None

BURNING = ("serial", "mutex", "async", "simple_threadpool")
TIMED = ("boost_threadpool", "boost_coroutine", "boost_coroutine_strand", "boost_coroutine_io_context",
         "folly_future", "folly_coroutine", "seastar_hash")
TASKS = 1_000


def _case(variant: str, rounds: int, wait: int) -> dict[str, Any]:
    return {"variant": variant, "rounds": rounds, "tasks": TASKS, "wait_us": wait}


# A round takes some 2 ms where the waits are timers and overlap, and up to 150 ms where they burn.
SEED = [_case(variant, rounds, wait) for wait in (8, 64) for variants, rounds in ((BURNING, 2), (TIMED, 100))
        for variant in variants]
# A repetition with timers takes most of a second.
LONG = SEED


def cases(size: str) -> list[dict[str, Any]]:
    if size == "smoke":
        return [_case(variant, 1, 8) for variant in (*BURNING, *TIMED)]
    if size == "base":
        # One of each kind: the suite quick is for what users ask, and all variants are the seed's.
        return [_case("mutex", 2, 8), _case("boost_coroutine_io_context", 100, 8)]
    return [_case(variant, 10, 8) for variant in BURNING] + [_case(variant, 1_000, 8) for variant in TIMED]


# The cases of the suite quick.
QUICK = cases("base")[:1]


def items(params: dict[str, Any], threads: int) -> int:
    return params["rounds"] * params["tasks"]


def expected(params: dict[str, Any], threads: int) -> str:
    """What all caches hold, each at the end of its round."""
    return word(params["rounds"] * cache_of(2 * params["tasks"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
