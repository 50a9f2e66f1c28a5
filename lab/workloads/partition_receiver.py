"""The receiver of a partition, which gets a batch now and then: how long a batch waits, and what the waiting costs."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, ordered_sum_to, word
from workloads.headline import P50, TIME, Headline

NAME = "partition_receiver"
DESCRIPTION = ("A coordinator sends the numbers of batches through a queue without a bound and sleeps before each; a receiver "
               "gets them and yields 50 times after each (yields), looks into the queue and yields while it is empty (polls), "
               "or is woken by what comes (parks).")
ITEM = "one batch, from its send until its receiver has it and is done with it"
THREADS = None
# The document's test has one thread, whatever it says of itself.
SEED_THREADS = (1,)

RECEIVERS = ("yields", "polls", "parks")
YIELDS = 50


def _cases(batches: int, gaps: tuple[int, ...]) -> list[dict[str, Any]]:
    return [{"receiver": receiver, "gap_us": gap, "batches": batches, "yields": YIELDS if receiver == "yields" else 0}
            for gap in gaps for receiver in RECEIVERS]


SEED = _cases(100, (100, 0))


def cases(size: str) -> list[dict[str, Any]]:
    return _cases({"smoke": 10, "base": 100, "large": 5_000}[size], (100,))


# The cases of the suite quick.
QUICK = cases("base")[2:3]


def least_ms(params: dict[str, Any]) -> int:
    """A receiver that parks has little CPU to count, and that is what it is measured for."""
    return 1_200 if params["receiver"] == "parks" and params["gap_us"] else 0


def headline(params: dict[str, Any]) -> Headline:
    if params.get("gap_us", 1):
        return Headline(P50, "the row asks how long a batch waits for its receiver", time_of="the coordinator's timer")
    return Headline(TIME, "without a gap batches come as fast as they are taken")


def items(params: dict[str, Any], threads: int) -> int:
    return params["batches"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(ordered_sum_to(params["batches"]))


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
