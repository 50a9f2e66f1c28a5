"""The programs of the document on Tokio's dispatcher, as its author wrote them."""

from __future__ import annotations

from typing import Any

from workloads import mpsc_batches, record_path
from workloads.answers import mismatch, sum_below, word
from workloads.headline import TIME, Headline

NAME = "dispatcher"
DESCRIPTION = ("The programs of the document on Tokio's dispatcher: a burst whose making and joining are timed apart (spawn, and "
               "throughput with a yield after each 100th), batches through a channel whose two ends are timed apart (channel), "
               "records with work and 50 yields each (yields), batches of such records for a receiver that parks, spins or "
               "sleeps while there is none (partition, spins, sleeps), and the copy of a record (clone).")
ITEM = "one task, number or record"
THREADS = None
# The document's tests have one thread, whatever they say of themselves.
SEED_THREADS = (1,)
# What others have of it is in spawn_join, mpsc_batches, yield, partition_receiver and record_path.
RUNTIMES = ("bare", "coflux", "tokio", "tokio_ct", "go")

BATCH = 100
YIELDS = 50
# Some 5 us of work, as in record_path: the document's SQL.
STEPS = record_path.STEPS
# Before each batch the coordinator sleeps as long.
GAP_US = 100
# What a record's amount is, so that the copies can be counted.
AMOUNT = 150


def _case(program: str, count: int, batch: int = 0, yields: int = 0, steps: int = 0) -> dict[str, Any]:
    return {"program": program, "count": count, "batch": batch, "yields": yields, "steps": steps}


def _cases(tasks: int, more_tasks: int, records: int, copies: int) -> list[dict[str, Any]]:
    return [_case("spawn", tasks), _case("throughput", more_tasks, BATCH), _case("channel", records, BATCH),
            _case("yields", records, BATCH, YIELDS, STEPS), _case("partition", records, BATCH, YIELDS, STEPS),
            _case("spins", records, BATCH, 0, STEPS), _case("sleeps", records, BATCH, 0, STEPS), _case("clone", copies)]


SEED = _cases(10_000, 50_000, 10_000, 100_000)
# In a debug build the work of a record takes ten times as long.
LONG = [params for params in SEED if params["steps"]]


def cases(size: str) -> list[dict[str, Any]]:
    return _cases(*{"smoke": (500, 1_000, 500, 1_000), "base": (5_000, 10_000, 2_000, 20_000),
                    "large": (100_000, 500_000, 50_000, 1_000_000)}[size])


# The cases of the suite quick.
QUICK = [_case("yields", 1_000, BATCH, YIELDS, STEPS)]


def headline(params: dict[str, Any]) -> Headline:
    if params.get("program") == "clone":
        return Headline(None, "a record's copy is the program's own", time_of="the allocator's")
    return Headline(TIME, "the document divides the time of each program by its records")


def items(params: dict[str, Any], threads: int) -> int:
    return params["count"]


def expected(params: dict[str, Any], threads: int) -> str:
    program, count = params["program"], params["count"]
    if program in ("spawn", "throughput"):
        return word(sum_below(count))
    if program == "channel":
        return mpsc_batches.expected({"batches": count // params["batch"], "batch": params["batch"]}, threads)
    if program == "clone":
        return word(AMOUNT * count)
    return record_path.expected({"records": count, "steps": params["steps"]}, threads)


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
