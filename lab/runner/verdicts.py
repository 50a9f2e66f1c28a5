"""What figures say about each other: ratios with intervals, and which rows are losses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runner import catalog
from runner.runtimes import COFLUX, RUNTIMES
from runner.suites import case_key

ResultRow = dict[str, Any]


@dataclass(frozen=True)
class Ratio:
    """One row's time over another's."""

    value: float
    # The widest that the two intervals allow; None where a row has a single repetition and so no interval.
    low: float | None
    high: float | None

    @property
    def differs(self) -> bool:
        """Whether the two intervals lie apart."""
        return self.low is not None and self.high is not None and (self.low > 1 or self.high < 1)

    def text(self) -> str:
        """1.31 x, or that there is no difference to speak of."""
        if self.low is None:
            return f"{factor(self.value)}, n = 1"
        return factor(self.value) if self.differs else "no difference"


def factor(value: float) -> str:
    return f"{value:.2f} x" if value < 100 else f"{value:.0f} x"


def ratio(over: ResultRow | None, under: ResultRow | None) -> Ratio | None:
    """The ratio of two rows that both have a figure."""
    if over is None or under is None or over["median"] is None or under["median"] is None:
        return None
    value = over["median"] / under["median"]
    if over["ci_low"] is None or under["ci_low"] is None:
        return Ratio(value, None, None)
    return Ratio(value, over["ci_low"] / under["ci_high"], over["ci_high"] / under["ci_low"])


@dataclass(frozen=True)
class CaseResult:
    """All runtimes on one case."""

    workload: str
    params: catalog.Params
    threads: int
    rows: dict[str, ResultRow]

    @property
    def label(self) -> str:
        return catalog.label(self.params)

    @property
    def short_label(self) -> str:
        return catalog.short_label(self.params)

    @property
    def title(self) -> str:
        return f"{self.workload}: {self.label}"

    @cached_property
    def baseline(self) -> ResultRow | None:
        """Coflux's row, where it took part."""
        return self.rows.get(COFLUX)

    @cached_property
    def floor(self) -> ResultRow | None:
        """The row of what is possible without a library, where it has a figure."""
        return next((row for name, row in self.rows.items() if RUNTIMES[name].floor and row["status"] == "ok"), None)

    def ratio_to_baseline(self, runtime: str) -> Ratio | None:
        return ratio(self.rows.get(runtime), self.baseline)

    @cached_property
    def losses(self) -> dict[str, Ratio]:
        """The contenders that were faster than Coflux with intervals apart, the fastest first."""
        found = {}
        for runtime in self.rows:
            against = self.ratio_to_baseline(runtime)
            if against is not None and against.differs and against.value < 1 and not RUNTIMES[runtime].floor:
                found[runtime] = against
        return dict(sorted(found.items(), key=lambda item: item[1].value))

    @property
    def without_figure(self) -> bool:
        """Coflux took part and has no figure to show: worse than any loss."""
        return self.baseline is not None and self.baseline["status"] != "ok"


def by_case(rows: list[ResultRow]) -> list[CaseResult]:
    """The rows gathered by case, in the order of the run."""
    cases: dict[str, CaseResult] = {}
    for row in rows:
        key = case_key(row["workload"], row["params"], row["threads"])
        case = cases.setdefault(key, CaseResult(row["workload"], row["params"], row["threads"], {}))
        case.rows[row["runtime"]] = row
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
