"""What figures say about each other: ratios with intervals, and which rows are losses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runner import catalog, stats
from runner.runtimes import COFLUX, RUNTIMES
from runner.state import PLAIN
from runner.suites import case_key

ResultRow = dict[str, Any]


# What adapters measure beside an item's time of which less is better. The others, as the latency of one in a thousand
# of a few thousand, are told (tables.TOLD) and not judged.
JUDGED = ("p50_ns", "p99_ns", "bytes_each", "kept_bytes", "kept_when_idle_bytes")

# What the figures that each row has are called.
TIME, CPU = "time", "CPU"

# A difference of this factor is shown also where the test does not decide: rounds may be few, or half of them
# disturbed.
GREAT = 2.0


@dataclass(frozen=True)
class Ratio:
    """One row's figure over another's."""

    value: float
    # None where a row has a single repetition.
    low: float | None
    high: float | None
    coverage: float | None
    # How many rounds both have, and in how many of them it was above 1 and below 1. None where the rows are of two runs.
    rounds: int | None
    above: int
    below: int
    # Whether there are so few rounds that no outcome could be beyond the level of the test.
    too_few: bool
    # What the test says, and its p.
    differs: bool
    p: float

    @property
    def shown(self) -> bool:
        """Whether it is a difference to tell: the test finds one, or it is too great to be silent of."""
        return self.differs or self.value >= GREAT or self.value <= 1 / GREAT

    @property
    def less(self) -> bool:
        """Where the other row is Coflux's: a loss."""
        return self.shown and self.value < 1

    def text(self) -> str:
        """1.31 x, or that there is no difference to speak of."""
        if self.differs:
            return factor(self.value)
        if self.rounds is not None and self.too_few:
            return f"{factor(self.value)}, n = {self.rounds}"
        return f"{factor(self.value)}, undecided" if self.shown else "no difference"

    def rounds_text(self) -> str:
        """The words of a table of losses: below in 9 of 9 rounds."""
        if self.rounds is None:
            return ""
        return f"below in {self.below}" + (f", above in {self.above}" if self.above else "") + f" of {self.rounds} rounds"

    def interval_text(self) -> str:
        if self.low is None:
            return ""
        return f"{self.low:.2f} to {self.high:.2f}" + ("" if self.coverage >= stats.CONFIDENCE else f" ({100 * self.coverage:.0f} %)")


def factor(value: float) -> str:
    return f"{value:.2f} x" if value < 100 else f"{value:.0f} x"


def paired(over: ResultRow | None, under: ResultRow | None, samples: str = "samples") -> Ratio | None:
    """The median of the ratios round by round, of two rows of one run that both have a figure: `samples`, or
    `cpu_samples`.

    In a round both were measured within seconds of each other, so what the machine did then is in both. The verdict is
    the sign test's.
    """
    return None if over is None or under is None else paired_samples(over[samples], under[samples])


def paired_samples(over: list[float], under: list[float]) -> Ratio | None:
    """The same of their figures."""
    # A round without a figure leaves the row without one, also where the other row ended before it.
    if not over or not under or not all(over) or not all(under):
        return None
    ratios = [above / below for above, below in zip(over, under)]
    summary = stats.summarize(ratios)
    found = summary.interval
    return Ratio(summary.median, found and found.low, found and found.high, found and found.coverage, len(ratios),
                 sum(each > 1 for each in ratios), sum(each < 1 for each in ratios), not stats.can_decide(len(ratios)),
                 (p := stats.sign_test(ratios)) <= stats.LEVEL, p)


def between_runs(over: ResultRow, under: ResultRow) -> Ratio | None:
    """The factor between two rows that share no round. The verdict is the rank test's, by Mann and Whitney: the
    repetitions of two runs are no pairs."""
    if over["median"] is None or under["median"] is None or not min(over["samples"] + under["samples"]):
        return None
    value, found = stats.factor_between(over["samples"], under["samples"])
    p = stats.rank_test(over["samples"], under["samples"])
    return Ratio(value, found and found.low, found and found.high, found and found.coverage, None, 0, 0,
                 not stats.can_decide_between(over["n"], under["n"]), p <= stats.LEVEL, p)


@dataclass(frozen=True)
class FigureRatio:
    """A contender's row, and one of its figures over Coflux's."""

    name: str
    row: ResultRow
    ratio: Ratio

    @property
    def median(self) -> float:
        fields = {TIME: "median", CPU: "cpu_median"}
        return self.row[fields[self.name]] if self.name in fields else self.row["figures"][self.name]["median"]


@dataclass(frozen=True)
class CaseResult:
    """All runtimes on one case, in all their dresses and with all allocators."""

    workload: str
    params: catalog.Params
    threads: int
    every: list[ResultRow]
    # The run has the same case with other threads, too.
    tells_threads: bool = False

    @property
    def label(self) -> str:
        return catalog.label(self.params)

    @property
    def short_label(self) -> str:
        return catalog.short_label(self.params) + (f" threads={self.threads}" if self.tells_threads else "")

    @property
    def title(self) -> str:
        return f"{self.workload}: {self.label}"

    @cached_property
    def rows(self) -> dict[str, ResultRow]:
        """The row that speaks for each runtime: with its recommended allocator, in the dress that was fastest."""
        return {name: min(rows, key=_speaks) for name, rows in self._by_runtime.items()}

    @cached_property
    def cpu_rows(self) -> dict[str, ResultRow]:
        """The row that speaks for each runtime's CPU: with its recommended allocator, in the dress that spent least."""
        return {name: min(rows, key=_speaks_of_cpu) for name, rows in self._by_runtime.items()}

    @cached_property
    def _by_runtime(self) -> dict[str, list[ResultRow]]:
        found: dict[str, list[ResultRow]] = {}
        for row in self.every:
            found.setdefault(row["runtime"], []).append(row)
        return found

    @cached_property
    def variants(self) -> list[ResultRow]:
        """The rows with a figure that speak for no runtime: the other dresses and allocators."""
        speaking = {id(row) for row in self.rows.values()}
        return [row for row in self.every if id(row) not in speaking and row["status"] == "ok"]

    @cached_property
    def baseline(self) -> ResultRow | None:
        """Coflux's row, where it took part."""
        return self.rows.get(COFLUX)

    @cached_property
    def floor(self) -> ResultRow | None:
        """The row of what is possible without a library, where it has a figure."""
        return next((row for name, row in self.rows.items() if RUNTIMES[name].floor and row["status"] == "ok"), None)

    def ratio_to_baseline(self, runtime: str) -> Ratio | None:
        return paired(self.rows.get(runtime), self.baseline)

    def cpu_ratio_to_baseline(self, runtime: str) -> Ratio | None:
        """The ratio of CPU an item. None where one of the two spent too little of it in a repetition to be counted."""
        return paired(self.cpu_rows.get(runtime), self.baseline, "cpu_samples")

    @cached_property
    def losses(self) -> dict[str, Ratio]:
        """The contenders that were faster than Coflux, the fastest first."""
        return self._losses(self.ratio_to_baseline)

    @cached_property
    def cpu_losses(self) -> dict[str, Ratio]:
        """The contenders that spent less CPU an item than Coflux, the thriftiest first."""
        return self._losses(self.cpu_ratio_to_baseline)

    @cached_property
    def figure_ratios(self) -> list[FigureRatio]:
        """By what else was measured, each contender's best dress in that against Coflux."""
        own = self.baseline and self.baseline["status"] == "ok" and self.baseline.get("figures")
        found = []
        for name in [each for each in JUDGED if own and each in own]:
            best: dict[str, ResultRow] = {}
            for row in self.every:
                known = best.get(row["runtime"])
                if row["recommended"] and name in row.get("figures", {}) and \
                        (known is None or row["figures"][name]["median"] < known["figures"][name]["median"]):
                    best[row["runtime"]] = row
            for runtime, row in best.items():
                against = paired_samples(row["figures"][name]["samples"], own[name]["samples"])
                if runtime != COFLUX and not RUNTIMES[runtime].floor and against:
                    found.append(FigureRatio(name, row, against))
        return found

    @cached_property
    def figure_losses(self) -> list[FigureRatio]:
        """Those of them that are below Coflux's: the greatest loss first."""
        found = [each for each in self.figure_ratios if each.ratio.less]
        return sorted(found, key=lambda each: each.ratio.value)

    def rivals(self, figure: str) -> dict[str, FigureRatio]:
        """The contenders by TIME, CPU or one of JUDGED, the best first. The floor is none."""
        found = [each for each in self.figure_ratios if each.name == figure]
        if figure in (TIME, CPU):
            rows, compare = (self.rows, self.ratio_to_baseline) if figure == TIME else \
                            (self.cpu_rows, self.cpu_ratio_to_baseline)
            found = [FigureRatio(figure, row, against) for name, row in rows.items()
                     if name != COFLUX and not RUNTIMES[name].floor and (against := compare(name))]
        return {each.row["runtime"]: each for each in sorted(found, key=lambda each: each.ratio.value)}

    def own_dresses(self, figure: str) -> dict[str, FigureRatio]:
        """Coflux's other dresses by TIME, CPU or one of JUDGED, against its plain one. They judge nothing."""
        found = {}
        for row in self.every:
            if row["runtime"] == COFLUX and row["dress"] != PLAIN and row["recommended"] and row["status"] == "ok" and \
                    (against := _by_figure(figure, row, self.baseline)):
                found[row["dress"]] = FigureRatio(figure, row, against)
        return found

    def _losses(self, compare: Callable[[str], Ratio | None]) -> dict[str, Ratio]:
        found = {}
        for runtime in self.rows:
            against = compare(runtime)
            if against is not None and against.less and not RUNTIMES[runtime].floor:
                found[runtime] = against
        return dict(sorted(found.items(), key=lambda item: item[1].value))

    @property
    def without_figure(self) -> bool:
        """Coflux took part and has no figure to show: worse than any loss. What it is not written for, as a program of
        the seed documents for another runtime, is none of its figures."""
        return self.baseline is not None and self.baseline["status"] not in ("ok", "unsupported")


def _by_figure(figure: str, over: ResultRow, under: ResultRow | None) -> Ratio | None:
    """The ratio of two rows by TIME, CPU or one of JUDGED, if both have it."""
    if figure in (TIME, CPU):
        return paired(over, under, "samples" if figure == TIME else "cpu_samples")
    samples = [row["figures"][figure]["samples"] for row in (over, under) if row and figure in row.get("figures", {})]
    return paired_samples(*samples) if len(samples) == 2 else None


def _speaks(row: ResultRow) -> tuple[bool, bool, bool, float]:
    """Sorts the row that speaks for its runtime to the front. Coflux is judged as its users write it, a rival as its
    experts do."""
    plain_first = row["runtime"] == COFLUX and row["dress"] != PLAIN
    return row["status"] != "ok", not row["recommended"], plain_first, row["median"] or 0.0


def _speaks_of_cpu(row: ResultRow) -> tuple[bool, bool, bool, float]:
    """The same by CPU. A dress that spent too little to be counted is behind those that have a figure."""
    return *_speaks(row)[:3], math.inf if row["cpu_median"] is None else row["cpu_median"]


def by_case(rows: list[ResultRow]) -> list[CaseResult]:
    """The rows gathered by case, in the order of the run."""
    threads: dict[str, set[int]] = {}
    for row in rows:
        threads.setdefault(case_key(row["workload"], row["params"], 0), set()).add(row["threads"])
    cases: dict[str, CaseResult] = {}
    for row in rows:
        tells = len(threads[case_key(row["workload"], row["params"], 0)]) > 1
        new = CaseResult(row["workload"], row["params"], row["threads"], [], tells)
        cases.setdefault(case_key(row["workload"], row["params"], row["threads"]), new).every.append(row)
    return list(cases.values())


def losses_first(cases: list[CaseResult]) -> list[CaseResult]:
    """Cases without a figure of Coflux, then its losses from the greatest, then the others in their order."""
    def rank(case: CaseResult) -> tuple[int, float]:
        if case.without_figure:
            return (0, 0.0)
        if case.losses:
            return (1, min(each.value for each in case.losses.values()))
        return (2, 0.0)
    return sorted(cases, key=rank)
