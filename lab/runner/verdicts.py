"""What figures say about each other: ratios with intervals, and which rows are losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from workloads.headline import BYTES_EACH, CPU, KEPT, KEPT_WHEN_IDLE, MEMORY, P50, P99, TIME, Headline

from runner import catalog, stats
from runner.runtimes import COFLUX, RUNTIMES
from runner.state import PLAIN
from runner.suites import case_key

ResultRow = dict[str, Any]


# What adapters measure beside an item's time of which less is better. The others, as the latency of one in a thousand
# of a few thousand, are told (tables.TOLD) and not judged.
JUDGED = (P50, P99, BYTES_EACH, KEPT, KEPT_WHEN_IDLE)
# All by which rows are judged.
FIGURES = (TIME, CPU, *JUDGED)

# A difference of this factor is shown also where the test does not decide: rounds may be few, or half of them
# disturbed.
GREAT = 2.0
# Within it on both sides two figures are the same for all that a user can tell.
SAME = 0.05


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
        """Where the other row is Coflux's: a loss to tell."""
        return self.shown and self.value < 1

    @property
    def lost(self) -> bool:
        """The same as far as the test decides it: what is counted."""
        return self.differs and self.value < 1

    @property
    def same(self) -> bool:
        """Whether the whole interval is so near to 1 that there is no difference to speak of."""
        return self.low is not None and 1 - SAME <= self.low and self.high <= 1 + SAME

    def text(self) -> str:
        """1.31 x; that there is no difference; or that it is undecided, and between what."""
        if self.differs:
            return factor(self.value)
        if self.rounds is not None and self.too_few:
            return f"{factor(self.value)}, n = {self.rounds}"
        if self.same:
            return "no difference"
        between = "" if self.low is None else f": {self.low:.2f} to {self.high:.2f}"
        return f"{factor(self.value)}, undecided{between}"

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
        return median_of(self.name, self.row)


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
    def headline(self) -> Headline:
        """What its verdict is by: what the run was begun with, else what the workload declares."""
        told = next((row["headline"] for row in self.every if row.get("headline")), None)
        return catalog.headline(self.workload, self.params) if told is None else Headline(**told)

    @cached_property
    def rows(self) -> dict[str, ResultRow]:
        """The row that speaks for each runtime's time."""
        return self.speaking(TIME)

    @cached_property
    def cpu_rows(self) -> dict[str, ResultRow]:
        """The row that speaks for each runtime's CPU."""
        return self.speaking(CPU)

    def speaking(self, figure: str, dress: str | None = None) -> dict[str, ResultRow]:
        """The row that speaks for each runtime by a figure: in the dress that is best in it, or in the one that is asked
        for; with its recommended allocator, and by memory with the one that is best in it."""
        if (figure, dress) in self._spoken:
            return self._spoken[figure, dress]
        found = self._spoken.setdefault((figure, dress), {})
        for name, rows in self._by_runtime.items():
            if dressed := [row for row in rows if dress in (None, row["dress"])]:
                found[name] = min(dressed, key=partial(_speaks, figure))
        return found

    @cached_property
    def _spoken(self) -> dict[tuple[str, str | None], dict[str, ResultRow]]:
        return {}

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
        """The row of what is possible without a library, where it has a figure: by the compiler that the others share."""
        return next((row for name, row in self.rows.items()
                     if RUNTIMES[name].floor and RUNTIMES[name].computes is None and row["status"] == "ok"), None)

    def is_judged(self, figure: str) -> bool:
        """Time that is not the runtime's has no verdict."""
        return figure != TIME or self.headline.time_of is None

    def ratio_to_baseline(self, runtime: str) -> Ratio | None:
        return self.ratio(TIME, runtime)

    def cpu_ratio_to_baseline(self, runtime: str) -> Ratio | None:
        """The ratio of CPU an item. None where one of the two spent too little of it in a repetition to be counted."""
        return self.ratio(CPU, runtime)

    def ratio(self, figure: str, runtime: str, dress: str | None = None) -> Ratio | None:
        """A runtime over Coflux: best against best, or both in one dress. None where one has no figure, or where it is
        not judged."""
        speaking = self.speaking(figure, dress)
        if not self.is_judged(figure):
            return None
        return _by_figure(figure, speaking.get(runtime), speaking.get(COFLUX))

    @cached_property
    def losses(self) -> dict[str, Ratio]:
        """The contenders that were faster than Coflux, the fastest first."""
        return self._losses(TIME)

    @cached_property
    def cpu_losses(self) -> dict[str, Ratio]:
        """The contenders that spent less CPU an item than Coflux, the thriftiest first."""
        return self._losses(CPU)

    @cached_property
    def figure_ratios(self) -> list[FigureRatio]:
        """By what else was measured, each contender's best row in that against Coflux's."""
        return [each for name in JUDGED for each in self.rivals(name).values()]

    @cached_property
    def figure_losses(self) -> list[FigureRatio]:
        """Those of them that are below Coflux's: the greatest loss first."""
        found = [each for each in self.figure_ratios if each.ratio.less]
        return sorted(found, key=lambda each: each.ratio.value)

    def rivals(self, figure: str, dress: str | None = None) -> dict[str, FigureRatio]:
        """The contenders by one of FIGURES, what Coflux loses by decision first and then the best: best against best,
        or both in one dress. The floor is none."""
        found = [FigureRatio(figure, row, against) for name, row in self.speaking(figure, dress).items()
                 if name != COFLUX and not RUNTIMES[name].floor and (against := self.ratio(figure, name, dress))]
        return {each.row["runtime"]: each for each in sorted(found, key=lambda each: (not each.ratio.lost, each.ratio.value))}

    def own_dresses(self, figure: str) -> dict[str, FigureRatio]:
        """Coflux's other dresses by one of FIGURES, against its plain one."""
        plain = self.speaking(figure, PLAIN).get(COFLUX)
        found = {}
        for row in self.every:
            if row["runtime"] == COFLUX and row["dress"] != PLAIN and row["recommended"] and row["status"] == "ok" and \
                    (against := _by_figure(figure, row, plain)):
                found[row["dress"]] = FigureRatio(figure, row, against)
        return found

    def _losses(self, figure: str) -> dict[str, Ratio]:
        found = {name: each.ratio for name, each in self.rivals(figure).items() if each.ratio.less}
        return dict(sorted(found.items(), key=lambda item: item[1].value))

    @property
    def without_figure(self) -> bool:
        """Coflux took part and has no figure to show: worse than any loss. What it is not written for, as a program of
        the seed documents for another runtime, is none of its figures."""
        return self.baseline is not None and self.baseline["status"] not in ("ok", "unsupported")


def _by_figure(figure: str, over: ResultRow | None, under: ResultRow | None) -> Ratio | None:
    """The ratio of two rows by one of FIGURES, if both have it."""
    if figure in (TIME, CPU):
        return paired(over, under, "samples" if figure == TIME else "cpu_samples")
    samples = [row["figures"][figure]["samples"] for row in (over, under) if row and figure in row.get("figures", {})]
    return paired_samples(*samples) if len(samples) == 2 else None


def median_of(figure: str, row: ResultRow) -> float | None:
    """The median of one of FIGURES; None where the row has none."""
    if figure in (TIME, CPU):
        return row["median" if figure == TIME else "cpu_median"]
    return row.get("figures", {}).get(figure, {}).get("median")


def _speaks(figure: str, row: ResultRow) -> tuple[bool, bool, float]:
    """Sorts the row that speaks for its runtime to the front. One without the figure is behind those that have it."""
    value = median_of(figure, row)
    return row["status"] != "ok", figure not in MEMORY and not row["recommended"], math.inf if value is None else value


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
