"""The table of docs/bench/figures.md: each workload with the case in which Coflux is worst, and the list of all losses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from workloads.headline import P50, P99

from runner import axes, results, tables
from runner.runtimes import COFLUX
from runner.state import PLAIN
from runner.suites import case_key
from runner.verdicts import CPU, FIGURES, TIME, CaseResult, FigureRatio, Ratio

# The figures of one latency: where their verdicts differ all of them are told.
OF_LATENCY = (TIME, P50, P99)
LOST, UNDECIDED, LED = "lost", "undecided", "led"


@dataclass(frozen=True)
class Line:
    """A case, and the figure that the table has of it."""

    case: CaseResult
    # None: the headline's.
    chosen: str | None = None

    @cached_property
    def figure(self) -> str:
        """The time also where no contender has the figure that counts, as in the files of earlier versions."""
        if self.chosen is not None:
            return self.chosen
        name = self.case.headline.figure or TIME
        return name if self.case.rivals(name) else TIME

    @cached_property
    def rivals(self) -> dict[str, FigureRatio]:
        """Decided losses first, the worst of them at the front; then the best."""
        return self.case.rivals(self.figure)

    @property
    def ratios(self) -> dict[str, Ratio]:
        """The ratios of the picture, which has the floor's time, too."""
        floor = self.case.floor if self.figure == TIME else None
        over = None if floor is None else self.case.ratio_to_baseline(floor["runtime"])
        return {name: each.ratio for name, each in self.rivals.items()} | ({floor["runtime"]: over} if over else {})

    @property
    def without_figure(self) -> bool:
        return self.case.baseline is not None and self.case.baseline["status"] in results.BAD

    @property
    def verdict(self) -> str:
        ratios = [each.ratio for each in self.rivals.values()]
        if any(each.lost for each in ratios):
            return LOST
        return LED if all(each.differs for each in ratios) else UNDECIDED

    @property
    def rank(self) -> tuple[int, float]:
        """The worst first: no figure of Coflux's, a decided loss, what is undecided, a win."""
        ratios = [each.ratio for each in self.rivals.values()]
        if self.without_figure or not ratios:
            return (0, 0.0)
        place = {LOST: 1, UNDECIDED: 2, LED: 3}[self.verdict]
        return (place, min(each.value for each in ratios if place > 1 or each.lost))

    @property
    def name(self) -> str:
        """The name in the picture: the workload, and which figure where it is not the time."""
        return self.case.workload + ("" if self.figure == TIME else f" ({self.figure.partition('_')[0]})")

    @property
    def key(self) -> tuple[str, str]:
        """The same for the same case and figure of two runs."""
        return case_key(self.case.workload, self.case.params, self.case.threads), self.figure

    @property
    def label(self) -> str:
        shown = "" if self.figure == TIME and self.chosen is None else f": {named(self.figure)}"
        return f"[{self.case.workload}]({self.case.workload}.md) {self.case.short_label}{shown}"

    @property
    def cells(self) -> list[str]:
        """Coflux, the two rivals that matter most by name, and the one that does plain against plain."""
        best = [rival(each) for each in list(self.rivals.values())[:2]]
        plain = list(self.case.rivals(self.figure, PLAIN).values())[:1]
        return [own(self.case, self.figure), *best, *[""] * (2 - len(best)), *map(rival, plain), *[""] * (1 - len(plain))]


def named(figure: str) -> str:
    """What a figure is called: the time of a latency is its mean."""
    return {TIME: "time, ns an item", CPU: "CPU, ns an item"}.get(figure) or tables.TITLES[figure]


def own(case: CaseResult, figure: str, dress: str | None = None) -> str:
    """Coflux's figure."""
    row = case.speaking(figure, dress)[COFLUX]
    found = tables.nanoseconds_of(figure, row) or row["status"]
    return found + (f" ({row['dress']})" if row["dress"] != PLAIN else "")


def rival(each: FigureRatio) -> str:
    """A contender with its figure and how that stands to Coflux's."""
    text = f"{each.row['runtime']} {tables.nanoseconds(each.median)} ({each.ratio.text()}{tables.beside(each.row)})"
    return f"**{text}**" if each.ratio.lost else text


def lines(cases: list[CaseResult]) -> list[Line]:
    """One of each workload that Coflux shares with a rival: losses first, from the greatest, the others in their order.
    Where the mean, the p50 and the p99 of the case differ in verdict each has a line."""
    worst: dict[str, Line] = {}
    for line in [Line(case) for case in cases if axes.is_scheduled(case)]:
        if line.rivals or line.without_figure:
            known = worst.get(line.case.workload, line)
            worst[line.case.workload] = min(known, line, key=lambda each: each.rank)
    ordered = sorted(worst.values(), key=lambda each: min(each.rank, (2, 0.0)))
    return [each for line in ordered for each in (line, *others(line))]


def others(line: Line) -> list[Line]:
    """The other figures of a latency whose verdict is another one."""
    if line.figure not in OF_LATENCY or not line.rivals:
        return []
    beside = [Line(line.case, figure) for figure in OF_LATENCY if figure != line.figure]
    return [each for each in beside if each.rivals and each.verdict != line.verdict]


@dataclass(frozen=True)
class Loss:
    """Contenders that are decidedly ahead of Coflux in one figure of one case."""

    case: CaseResult
    figure: str
    best: list[FigureRatio]
    # Of plain against plain, those that are not among the others.
    plain: list[FigureRatio]

    @property
    def key(self) -> tuple[str, str]:
        return case_key(self.case.workload, self.case.params, self.case.threads), self.figure

    @property
    def label(self) -> str:
        is_headline = self.figure == self.case.headline.figure
        name = named(self.figure)
        return f"[{self.case.workload}]({self.case.workload}.md) {self.case.short_label}: {f'**{name}**' if is_headline else name}"

    @property
    def text(self) -> str:
        said = [f"{own(self.case, self.figure)}: {_all(self.best)}"] if self.best else []
        said += [f"plain {own(self.case, self.figure, PLAIN)}: {_all(self.plain)}"] if self.plain else []
        return "; ".join(said)

    @property
    def worst(self) -> float:
        return min(each.ratio.value for each in (*self.best, *self.plain))


def losses(cases: list[CaseResult]) -> list[Loss]:
    """Every decided loss of a run, in every figure, best against best and plain against plain. The headline's first."""
    found = []
    for case in cases:
        for figure in FIGURES:
            best, plain = ([each for each in case.rivals(figure, dress).values() if each.ratio.lost] for dress in (None, PLAIN))
            lost = {each.row["runtime"] for each in best}
            plain = [each for each in plain if each.row["runtime"] not in lost]
            if (best or plain) and axes.is_scheduled(case):
                found.append(Loss(case, figure, best, plain))
    return sorted(found, key=lambda each: (each.figure != each.case.headline.figure, each.worst))


def _all(rivals: list[FigureRatio]) -> str:
    return ", ".join(f"{each.row['runtime']} {tables.nanoseconds(each.median)} ({each.ratio.text()}{tables.beside(each.row)})"
                     for each in rivals)
