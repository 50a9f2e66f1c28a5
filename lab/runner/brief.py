"""The table of docs/bench/figures.md: each workload with the case in which Coflux is worst."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from runner import axes, results, tables
from runner.runtimes import COFLUX
from runner.state import PLAIN
from runner.verdicts import TIME, CaseResult, FigureRatio, Ratio

# Those that the table has a column of; another one stands there where it is among the two best of its row.
MAIN = ("asio", "tbb", "tokio", "go", "std")
# What a workload is about, where that is not its time.
HEADLINES = {"memory_after": "kept_bytes", "idle_tasks": "bytes_each", "latency_under_load": "p99_ns",
             "echo_pool": "p99_ns", "partition_receiver": "p50_ns", "outside_wake": "p50_ns"}


@dataclass(frozen=True)
class Line:
    """A case, and the figure that the table has of it."""

    case: CaseResult

    @cached_property
    def figure(self) -> str:
        """The time also where no contender has the figure that counts, as in the files of earlier versions."""
        name = HEADLINES.get(self.case.workload, TIME)
        return name if self.case.rivals(name) else TIME

    @cached_property
    def rivals(self) -> dict[str, FigureRatio]:
        """The best first."""
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
    def rank(self) -> tuple[int, float]:
        """The worst first: no figure of Coflux's, a loss, no difference from a rival, a win."""
        ratios = [each.ratio for each in self.rivals.values()]
        if self.without_figure or not ratios:
            return (0, 0.0)
        if losses := [each.value for each in ratios if each.less]:
            return (1, min(losses))
        return (3 if all(each.shown for each in ratios) else 2, min(each.value for each in ratios))

    @property
    def name(self) -> str:
        """The name in the picture: the workload, and which figure where it is not the time."""
        return self.case.workload + ("" if self.figure == TIME else f" ({self.figure.partition('_')[0]})")

    @property
    def own(self) -> str:
        """Coflux's figure."""
        row = self.case.baseline
        return tables.figure(row) if self.figure == TIME else tables.nanoseconds(row["figures"][self.figure]["median"])

    def text(self, main: list[str]) -> str:
        """A row of the table: Coflux, the two best contenders by name, and the ratios of the main ones: no column is
        nearly empty."""
        case, rivals = self.case, self.rivals
        shown = "" if self.figure == TIME else f": {tables.TITLES[self.figure]}"
        best = [_rival(each) for each in list(rivals.values())[:2]]
        ratios = [_marked(rivals[name], rivals[name].ratio.text()) if name in rivals else "" for name in main]
        cells = [f"[{case.workload}]({case.workload}.md) {case.short_label}{shown}", self.own,
                 *best, *[""] * (2 - len(best)), *ratios]
        return "| " + " | ".join(cells) + " |"


def lines(cases: list[CaseResult]) -> list[Line]:
    """One of each workload that Coflux shares with a rival: losses first, from the greatest, the others in their
    order."""
    worst: dict[str, Line] = {}
    for line in [Line(case) for case in cases if axes.is_scheduled(case)]:
        if line.rivals or line.without_figure:
            known = worst.get(line.case.workload, line)
            worst[line.case.workload] = min(known, line, key=lambda each: each.rank)
    return sorted(worst.values(), key=lambda each: min(each.rank, (2, 0.0)))


def table(lines: list[Line]) -> str:
    main = [name for name in MAIN if any(name in line.rivals for line in lines)]
    head = [f"| row | {COFLUX} | best rival | second best | " + " | ".join(main) + " |",
            "| --- |" + " ---: |" * (3 + len(main))]
    return "\n".join(head + [line.text(main) for line in lines])


def _rival(each: FigureRatio) -> str:
    """A contender with its figure and how that stands to Coflux's."""
    dress = "" if each.row["dress"] == PLAIN else f", {each.row['dress']}"
    return _marked(each, f"{each.row['runtime']} {tables.nanoseconds(each.median)} ({each.ratio.text()}{dress})")


def _marked(each: FigureRatio, text: str) -> str:
    return f"**{text}**" if each.ratio.less else text
