"""What the report computes of rows that were measured: figures in a document's units, and differences, round by
round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from runner import stats
from runner.runtimes import COFLUX, RUNTIMES
from runner.seeds import DOCUMENTS, ONE, Document, Experiment, Table, Term
from runner.suites import case_key
from runner.verdicts import TIME, CaseResult, ResultRow, paired_samples

# From this share of a wait on, the CPU is taken to be spent in the waiting.
BURNS_FROM = 0.5
COFLUX_FIRST = (COFLUX, *(name for name in RUNTIMES if name != COFLUX))


@dataclass(frozen=True)
class Figure:
    """A median in ns, with the interval of the rounds that it is made of."""

    runtime: str
    summary: stats.Summary
    n: int
    # Less than Coflux's.
    lost: bool = False

    def text(self) -> str:
        return duration(self.summary.median)

    def interval_text(self) -> str:
        found = self.summary.interval
        if found is None:
            return "n = 1"
        said = f"{duration(found.low)} to {duration(found.high)}"
        return said if found.coverage >= stats.CONFIDENCE else f"{said} ({100 * found.coverage:.0f} %)"


@dataclass(frozen=True)
class Line:
    """An experiment of a document and its figures here, Coflux's first."""

    experiment: Experiment
    figures: list[Figure]

    def of(self, runtime: str) -> Figure | None:
        return next((figure for figure in self.figures if figure.runtime == runtime), None)


    @property
    def best_other(self) -> Figure | None:
        """The least of the contenders'."""
        others = [figure for figure in self.figures if figure.runtime != COFLUX and not RUNTIMES[figure.runtime].floor]
        return min(others, key=lambda figure: figure.summary.median, default=None)

    def floors(self) -> list[Figure]:
        return [figure for figure in self.figures if RUNTIMES[figure.runtime].floor]


@dataclass(frozen=True)
class Answered:
    """A table of a document with what was measured of it."""

    table: Table
    lines: list[Line]

    @property
    def published(self) -> list[Line]:
        """Those that the document has a figure of."""
        return [line for line in self.lines if line.experiment.published]

    @property
    def runtimes(self) -> list[str]:
        present = {figure.runtime for line in self.lines for figure in line.figures}
        return [name for name in COFLUX_FIRST if name in present]


@dataclass(frozen=True)
class Burning:
    """The CPU over the floor's that a row whose tasks wait spends for each wait, as a share of the wait."""

    name: str
    runtime: str
    share: float

    @property
    def burns(self) -> bool:
        return self.share >= BURNS_FROM


@dataclass(frozen=True)
class Section:
    """A document of the report."""

    document: Document
    tables: list[Answered]
    burning: list[Burning]


def duration(ns: float) -> str:
    """With its unit: 97.6 ns, 4.67 us, 13.1 ms; below nothing with a minus."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}" if abs(ns) < 1_000 * size else f"{ns / size:,.0f} {unit}"
    return f"{ns:.3g} ns" if abs(ns) < 1_000 else f"{ns:,.0f} ns"


def rounds_note(together: bool) -> str:
    """How far apart the rounds of two cases are of which a difference is taken."""
    return ("The cases of a difference have their rounds together." if together else
            "Rounds of two cases are minutes apart, so what drifts between them is in it.")


class Cases:
    """The cases of a run, to be found by what a document asks for."""

    def __init__(self, cases: Iterable[CaseResult]) -> None:
        self._threads: dict[str, dict[int, CaseResult]] = {}
        for case in cases:
            self._threads.setdefault(case_key(case.workload, case.params, 0), {})[case.threads] = case

    def find(self, term: Term) -> CaseResult | None:
        """None where the run does not have it."""
        by_threads = self._threads.get(case_key(term.workload, term.params, 0), {})
        if term.threads == ONE:
            return by_threads.get(1)
        return by_threads[max(by_threads)] if by_threads else None

    def samples(self, term: Term, runtime: str, cpu: bool) -> list[float] | None:
        """The rounds of a runtime's row, or of the floor's where the term says so; None where there is no figure."""
        case = self.find(term)
        row = None if case is None else case.floor if term.floor else case.speaking(TIME, term.dress).get(runtime)
        if row is None or row["status"] != "ok":
            return None
        if term.figure is not None:
            return row.get("figures", {}).get(term.figure, {}).get("samples")
        samples: list[float | None] = row["cpu_samples" if cpu else "samples"]
        return None if None in samples else list(samples)

    def runtimes(self, term: Term) -> list[str]:
        case = self.find(term)
        return [] if case is None else [name for name in COFLUX_FIRST if name in case.speaking(TIME, term.dress)]


def measured(cases: Cases, experiment: Experiment) -> list[Figure]:
    """The figures of an experiment. The difference of two terms is taken in each round that both have, though the cases
    of a run come one after the other."""
    figures = []
    own: list[float] | None = None
    for runtime in cases.runtimes(experiment.term):
        if experiment.minus is not None and experiment.minus.floor and RUNTIMES[runtime].floor:
            # The floor less itself.
            continue
        over = cases.samples(experiment.term, runtime, experiment.cpu)
        minus, of = experiment.minus, runtime
        if experiment.alone is not None and RUNTIMES[runtime].computes is not None:
            minus, of = experiment.alone, RUNTIMES[runtime].computes
        under = None if minus is None else cases.samples(minus, of, experiment.cpu)
        if over is None or (minus is not None and under is None):
            continue
        values = [experiment.factor * value for value in
                  (over if under is None else (above - below for above, below in zip(over, under)))]
        if values:
            own = values if runtime == COFLUX else own
            figures.append(Figure(runtime, stats.summarize(values), len(values), _is_lost(runtime, values, own)))
    return figures


def _is_lost(runtime: str, values: list[float], own: list[float] | None) -> bool:
    """A difference of two cases may be below nothing, and then has no ratio."""
    if runtime == COFLUX or RUNTIMES[runtime].floor or own is None or min(values + own) <= 0:
        return False
    against = paired_samples(values, own)
    return against is not None and against.less


def burning(cases: Cases, document: Document) -> list[Burning]:
    """Which programs spend CPU while their tasks wait, by what they spend over the floor. The longest waits tell it:
    beside a short one what a task costs is much."""
    terms = [each.term for table in document.tables for each in table.experiments if "wait_us" in each.term.params]
    longest = max((term.params["wait_us"] for term in terms), default=0)
    found: dict[tuple[str, str, str], Burning] = {}
    for term in terms:
        case = cases.find(term)
        if term.params["wait_us"] < longest or case is None or case.floor is None:
            continue
        for name, row in case.rows.items():
            if row["status"] == "ok" and row is not case.floor and (share := _share(row, case.floor, 1_000 * longest)) is not None:
                found.setdefault((case.workload, case.short_label, name), Burning(f"{case.workload} {case.short_label}", name, share))
    return sorted(found.values(), key=lambda each: -each.share)


def _share(row: ResultRow, floor: ResultRow, wait_ns: float) -> float | None:
    if row["cpu_median"] is None or floor["cpu_median"] is None:
        return None
    return (row["cpu_median"] - floor["cpu_median"]) / wait_ns


def sections(cases: Iterable[CaseResult]) -> list[Section]:
    """The documents of which the run has a figure."""
    known = Cases(cases)
    found = []
    for document in DOCUMENTS:
        tables = [Answered(table, [Line(each, measured(known, each)) for each in table.experiments]) for table in document.tables]
        tables = [table for table in tables if table.runtimes]
        if tables:
            found.append(Section(document, tables, burning(known, document)))
    return found
