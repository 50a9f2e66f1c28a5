"""The suites: which cases, how many repetitions, how long a process may take."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from workloads.headline import MEMORY

from runner import catalog
from runner.catalog import Params, Workload


@dataclass(frozen=True)
class Suite:
    """A named choice of sizes and repetitions."""

    sizes: tuple[str, ...]
    repetitions: int
    purpose: str
    # A repetition repeats its work until its timed parts are as long as this. In less, the fast one escapes what the
    # slow one does not: preemption, and the ticks by which the kernel counts CPU.
    least_ms: int = 100
    # A repetition under load is repeated, within bounds.
    repeats: bool = True
    # A workload that is not asked for by its name has only the cases of QUICK, where its module has that.
    picks_cases: bool = False
    # How long a repetition may become until the CPU of the thriftiest runtime of its case can be counted.
    most_ms: int = 4_000
    # How long it waits for another run on the machine to end, in seconds.
    waits: float = 0.0


SEED = "seed"
# The dress of a runtime's users.
PLAIN = "plain"
# What --allocator takes beside names: each runtime's recommended one; all three for all.
RECOMMENDED, ALL = "recommended", "all"

# The repetitions of a case of the suite seed that takes long. With six the interval from the least to the greatest has
# 96.9 %, and the sign test can still decide.
LONG_REPETITIONS = 6

SUITES: dict[str, Suite] = {
    "smoke": Suite(("smoke",), 2, "every pair at its smallest, under 3 minutes: does all run and answer right?",
                   least_ms=0, repeats=False, waits=600.0),
    "quick": Suite(("base",), 9, "nine rounds, some ten minutes: of each workload the case that tells most, with so few items that the "
                                 "slowest runtime takes no seconds, and all cases of base size of those that --workload names",
                   picks_cases=True, most_ms=1_500),
    "seed": Suite((SEED,), 9, "the sizes that the seed documents measured in nine rounds, under an hour; "
                              f"{LONG_REPETITIONS} rounds of the cases that take longest"),
    "full": Suite(("base",), 9, "nine rounds of all cases of base size, under an hour: what a published table needs; --size, "
                                "--threads and --allocator choose others"),
}

# No workload needs more, and each is a stack. The adapters refuse more, too.
MOST_THREADS = 1_024

# For one process, which does a warm-up and a measured repetition.
TIMEOUT_SECONDS = {"smoke": 30.0, "base": 60.0, SEED: 120.0, "large": 900.0}


@dataclass(frozen=True)
class Case:
    """One workload with its numbers: what the runtimes are compared on."""

    workload: str
    params: Params
    threads: int
    timeout_seconds: float
    # The most repetitions of each of its rows, where a run with more would take too long for it.
    at_most: int | None = None
    # By what it is judged: declared when the run is planned, so before it is measured.
    headline: dict[str, Any] | None = None

    def repetitions(self, of_run: int) -> int:
        """The repetitions of each of its rows in a run of so many."""
        return min(of_run, self.at_most or of_run)

    @cached_property
    def key(self) -> str:
        """The same for two cases that may be compared. Made once: a run asks for it at each step, for each row."""
        return case_key(self.workload, self.params, self.threads)

    def to_json(self) -> dict[str, Any]:
        return {"workload": self.workload, "params": self.params, "threads": self.threads,
                "timeout_seconds": self.timeout_seconds, "at_most": self.at_most, "headline": self.headline}


def case_key(workload: str, params: Params, threads: int) -> str:
    return json.dumps([workload, params, threads], sort_keys=True)


def plan(chosen: list[Workload], sizes: tuple[str, ...], *threads: int, picks: bool = False) -> list[Case]:
    """The cases of the workloads in the given sizes and threads; one that two sizes share appears once, with the longer
    timeout. With `picks` those of base are a workload's QUICK, where it has that."""
    cases: dict[str, Case] = {}
    for workload in chosen:
        for size in sizes:
            for params in _params(workload, size, picks):
                for count in _threads(workload, size, threads):
                    of = catalog.headline(workload.NAME, params)
                    at_most = LONG_REPETITIONS if picks and of.figure in MEMORY else _at_most(workload, size, params)
                    case = Case(workload.NAME, params, count, TIMEOUT_SECONDS[size], at_most, asdict(of))
                    known = cases.get(case.key)
                    if known is None or known.timeout_seconds < case.timeout_seconds:
                        cases[case.key] = case
    return list(cases.values())


def _params(workload: Workload, size: str, picks: bool) -> list[Params]:
    if size == SEED:
        return workload.SEED
    quick = getattr(workload, "QUICK", None) if picks and size == "base" else None
    return quick or workload.cases(size)


def _at_most(workload: Workload, size: str, params: Params) -> int | None:
    return LONG_REPETITIONS if size == SEED and params in getattr(workload, "LONG", ()) else None


def least_ms(suite: Suite, workload: Workload, params: Params) -> int:
    """How long the timed parts of a repetition are together: the suite's, or what the workload asks for, where that is
    longer and the suite has the time."""
    asked = getattr(workload, "least_ms", None)
    is_short = suite.least_ms == 0 or suite.picks_cases
    return suite.least_ms if asked is None or is_short else max(suite.least_ms, asked(params))


def _threads(workload: Workload, size: str, asked: tuple[int, ...]) -> list[int]:
    """Those that the workload fixes, else those asked for; in the suite seed also those that its document has."""
    if workload.THREADS:
        return [workload.THREADS]
    own = getattr(workload, "SEED_THREADS", ()) if size == SEED else ()
    return list(dict.fromkeys((*own, *asked)))
