"""The way of a record through a stream processor: what the way adds to the five microseconds of work in it."""

from __future__ import annotations

from functools import cache
from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import TIME, Headline

NAME = "record_path"
DESCRIPTION = ("Batches of records are processed, each record some 5 us: in a plain loop, by a receiver behind a queue (direct), "
               "by eight partitions with an engine each to which a coordinator routes the records, or by eight that share one "
               "engine under a lock.")
ITEM = "one record"
THREADS = None

PATHS = ("plain", "direct", "coordinator", "shared")
PARTITIONS = 8
BATCH = 100
# Steps of a calculation in which each waits for the last one's result: about 1.3 ns each.
STEPS = 4_000


def _cases(records: int) -> list[dict[str, Any]]:
    return [{"path": path, "records": records, "batch": BATCH, "partitions": PARTITIONS, "steps": STEPS} for path in PATHS]


SEED = _cases(10_000)


def cases(size: str) -> list[dict[str, Any]]:
    return _cases({"smoke": 500, "base": 10_000, "large": 200_000}[size])


# The cases of the suite quick.
QUICK = _cases(4_000)[2:3]


def headline(params: dict[str, Any]) -> Headline:
    if params.get("path") == "plain":
        return Headline(None, "it is there to be subtracted: a loop without tasks", time_of="the compiler's")
    return Headline(TIME, "a path is there to get records through")


def items(params: dict[str, Any], threads: int) -> int:
    return params["records"]


@cache
def _results(records: int, steps: int) -> int:
    """The sum of what an engine makes of each record."""
    # Here, because --list must work before it is installed.
    import numpy
    values = numpy.arange(1, records + 1, dtype=numpy.uint64)
    factor, addend, shift = (numpy.uint64(each) for each in (6_364_136_223_846_793_005, 1_442_695_040_888_963_407, 29))
    for _ in range(steps):
        values = values * factor + addend
        values ^= values >> shift
    return int(values.sum(dtype=numpy.uint64))


def expected(params: dict[str, Any], threads: int) -> str:
    return word(_results(params["records"], params["steps"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
