"""The workloads: every module of lab/workloads that has a NAME."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any, Protocol

import workloads
from workloads.headline import Headline

SIZES = ("smoke", "base", "large")

Params = dict[str, Any]


class Workload(Protocol):
    """What a module of lab/workloads offers."""

    NAME: str
    DESCRIPTION: str
    ITEM: str
    # A number where the workload itself fixes the threads, None where the run chooses them.
    THREADS: int | None
    # What its verdict is by: HEADLINE, or headline(params) where that depends on the case.
    # The sizes that the seed documents measured. A module may have SEED_THREADS beside it, the threads that its document had: in the
    # suite seed each case is also run with these. And THREADS_BESIDE, for threads that need a CPU beside the workers'.
    # May stand beside it: QUICK, what the suite quick measures in place of all of base; and LONG, those of SEED that are measured in
    # fewer rounds, because a round of all runtimes takes long. BY_NAME: it is measured only where --workload names it; RUNTIMES: those
    # that have it; provide(params, build): what adapters find in their environment, or the sentence why that cannot be had.
    SEED: list[Params]

    def cases(self, size: str) -> list[Params]:
        """The parameter sets of one of SIZES."""

    def items(self, params: Params, threads: int) -> int:
        """How many items one measured repetition does."""

    def expected(self, params: Params, threads: int) -> str:
        """The reference answer, a decimal string."""

    def check(self, answer: str, params: Params, threads: int) -> str | None:
        """None where the answer is right, otherwise what is wrong with it."""


@cache
def all_workloads() -> dict[str, Workload]:
    """The workloads by name, in the order of their names."""
    found = {}
    for info in pkgutil.iter_modules(workloads.__path__):
        module = importlib.import_module(f"workloads.{info.name}")
        if hasattr(module, "NAME"):
            found[module.NAME] = module
    return dict(sorted(found.items()))


def headline(workload: str, params: Params) -> Headline:
    """What the verdict of a case is by, and why."""
    module = all_workloads()[workload]
    chosen = getattr(module, "headline", None)
    return chosen(params) if chosen else module.HEADLINE


def of_suites() -> list[Workload]:
    """Those of a run that names none."""
    return [each for each in all_workloads().values() if not getattr(each, "BY_NAME", False)]


def label(params: Params) -> str:
    """The parameters as text: resource=monotonic, count=100000."""
    return ", ".join(f"{name}={value}" for name, value in params.items())


def short_label(params: Params) -> str:
    """The same for narrow columns: monotonic 100k; numbers keep their name unless they count."""
    return " ".join(_short(name, value) for name, value in params.items())


def _short(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    return compact(value) if name == "count" else f"{name}={compact(value)}"


def compact(value: int) -> str:
    """100000 -> 100k, 10000000 -> 10M; numbers that are no multiple of a thousand stay as they are."""
    for factor, suffix in ((1_000_000, "M"), (1_000, "k")):
        if value and value % factor == 0:
            return f"{value // factor}{suffix}"
    return str(value)
