"""The steps in the life of a coroutine and of a thread, each by an amortised loop, beside what a clock itself costs."""

from __future__ import annotations

from typing import Any

from workloads.answers import mismatch, word
from workloads.headline import TIME, Headline

NAME = "coroutine_costs"
DESCRIPTION = ("One step again and again in one timed interval, so that no clock is in the figure: a coroutine is created and "
               "destroyed, created while others live, switched to and back; memory of its frame's size is taken and given "
               "back; a thread is created and joined; and a clock is read.")
ITEM = "one step"
THREADS = 1

# The frame of the document's coroutine has 48 bytes; the steps after the clocks are in the order of what they add.
STEPS = ("clock", "rdtsc", "allocate", "create_destroy", "create_destroy_pooled", "create_run_destroy", "create_live", "destroy_live",
         "switch", "co_yield", "thread")
LIVE = 1_000


def _cases(count: int) -> list[dict[str, Any]]:
    return [{"step": step, "count": max(10, count // 1_000) if step == "thread" else count, "live": LIVE} for step in STEPS]


SEED = _cases(1_000_000)


def cases(size: str) -> list[dict[str, Any]]:
    return _cases({"smoke": 10_000, "base": 1_000_000, "large": 10_000_000}[size])


# The cases of the suite quick.
QUICK = cases("base")[5:6]


def headline(params: dict[str, Any]) -> Headline:
    """The compiler makes a coroutine, switches to it and destroys it; frames from a pool and a child that runs are a library's."""
    step = params.get("step")
    if step in ("create_destroy_pooled", "create_run_destroy"):
        return Headline(TIME, "the step is in what a library takes part in: the frame's memory and the start")
    return Headline(None, "no library takes part in the step", time_of="the compiler's and the system's")


def items(params: dict[str, Any], threads: int) -> int:
    return params["count"]


def expected(params: dict[str, Any], threads: int) -> str:
    return word(params["count"])


def check(answer: str, params: dict[str, Any], threads: int) -> str | None:
    return mismatch(answer, expected(params, threads))
