"""--compare: this run over an older one, row by row."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from runner import catalog, chance, machine, stats, tables
from runner.probe import STATE_FACTOR
from runner.progress import contender
from runner.runtimes import COFLUX
from runner.suites import case_key
from runner.verdicts import Ratio, ResultRow, between_runs

# A run is busy where more than this share of its repetitions was, those among them that were made again.
MUCH = 0.1
# CPUs whose speeds differ by more have no figures in common.
SPEED_FACTOR = 1.1


@dataclass(frozen=True)
class Compared:
    """A row that both runs have."""

    new: ResultRow
    old: ResultRow
    ratio: Ratio | None
    # Whether it is a difference also if all rows of the two runs are taken together.
    holds: bool = False

    @property
    def p(self) -> str:
        return "" if self.ratio is None else f"{self.ratio.p:.2g}"

    @property
    def interval(self) -> str:
        return "" if self.ratio is None else self.ratio.interval_text()

    @property
    def verdict(self) -> str:
        """Faster, slower, no difference, undecided, or what became of a row without a figure."""
        if self.ratio is None:
            return self.new["status"] if self.new["status"] == self.old["status"] \
                else f"was {self.old['status']}, is {self.new['status']}"
        if self.ratio.too_few:
            return "too few repetitions"
        if not self.ratio.differs:
            return "no difference" if self.ratio.same else "undecided"
        return "faster" if self.ratio.value < 1 else "slower"

    @property
    def told(self) -> str:
        """The verdict, and whether it stands beside all others of the two runs."""
        return f"{self.verdict} (holds)" if self.holds else self.verdict

    @property
    def notable(self) -> bool:
        """Slower, faster, or with another status than before. So is a row of too few repetitions, about which nothing is known."""
        if self.ratio is None:
            return self.new["status"] != self.old["status"]
        return self.ratio.differs or self.ratio.too_few


@dataclass(frozen=True)
class Comparison:
    """The rows of both runs, and what a reader must know before the figures."""

    rows: list[Compared]
    only_new: list[str]
    only_old: list[str]
    warnings: list[str] = field(default_factory=list)

    @property
    def told(self) -> list[Compared]:
        """The rows of which there is something to say."""
        return [each for each in self.rows if each.notable]

    @property
    def untold(self) -> list[Compared]:
        return [each for each in self.rows if not each.notable]

    @property
    def note(self) -> str | None:
        """By which test rows are judged, and what of it is chance. None where no row can be judged."""
        judged = [each for each in self.rows if each.ratio is not None and not each.ratio.too_few]
        if not judged:
            return None
        exact = all(each.new["n"] + each.old["n"] <= stats.EXACT_UP_TO for each in judged)
        return chance.between_runs(len(judged), sum(each.ratio.differs for each in judged), sum(each.holds for each in judged), exact)

    @property
    def summary(self) -> str:
        """How many rows got slower and faster, Coflux's first: the others' tell what the machine did."""
        own = [each for each in self.rows if each.new["runtime"] == COFLUX]
        others = [each for each in self.rows if each.new["runtime"] != COFLUX]
        return " ".join(f"{name}: {_counted(rows)}." for name, rows in (("Coflux", own), ("Others", others)) if rows)


def row_name(row: ResultRow) -> str:
    return f"{row['workload']} {catalog.short_label(row['params'])}, {who(row)}, {row['threads']} threads"


def rival(row: ResultRow) -> str:
    """Who was faster, with the version of its library: verdicts age."""
    version = f" {row['version']}" if row["version"] else ""
    return f"{row['runtime']}{version}{who(row).removeprefix(row['runtime'])}"


def who(row: ResultRow) -> str:
    """The runtime, and the dress and the allocator where they need be told."""
    return contender(row["runtime"], row["dress"], row["malloc"], row["recommended"])


def compare(old: dict[str, Any], new: dict[str, Any]) -> Comparison:
    """Matches rows by workload, parameters, threads and runtime; the greatest slow-down comes first."""
    before = {_key(row): row for row in old["rows"]}
    after = {_key(row): row for row in new["rows"]}
    rows = _held([Compared(row, before[key], between_runs(row, before[key])) for key, row in after.items() if key in before])
    rows.sort(key=_rank)
    return Comparison(rows, [row_name(row) for key, row in after.items() if key not in before],
                      [row_name(row) for key, row in before.items() if key not in after], _warnings(old, new))


def _held(rows: list[Compared]) -> list[Compared]:
    """The same rows, with those marked that Holm's correction leaves."""
    judged = [each for each in rows if each.ratio is not None and not each.ratio.too_few]
    holds = {id(each) for each, survives in zip(judged, stats.holm([each.ratio.p for each in judged])) if survives}
    return [replace(each, holds=id(each) in holds) for each in rows]


def as_text(comparison: Comparison) -> str:
    """The table of the terminal."""
    lines = [["new over old", "old", "new", "ratio", "95 % interval", "p", "verdict"]]
    for each in comparison.rows:
        value = "" if each.ratio is None else f"{each.ratio.value:.2f}"
        lines.append([row_name(each.new), tables.figure(each.old), tables.figure(each.new), value, each.interval, each.p,
                      each.told])
    text = [f"note: {warning}" for warning in comparison.warnings] + [tables.align(lines, rule_after=0)]
    text += [] if comparison.note is None else [comparison.note]
    text += [f"only in the new run: {name}" for name in comparison.only_new]
    text += [f"only in the old run: {name}" for name in comparison.only_old]
    return "\n".join(text)


def _counted(rows: list[Compared]) -> str:
    slower = sum(each.verdict == "slower" for each in rows)
    faster = sum(each.verdict == "faster" for each in rows)
    return f"{slower} slower and {faster} faster of {len(rows)} rows"


def _key(row: ResultRow) -> tuple[str, ...]:
    return case_key(row["workload"], row["params"], row["threads"]), row["runtime"], row["dress"], row["malloc"]


def _rank(each: Compared) -> tuple[int, float]:
    """Rows without a ratio, then real differences from the slowest, then the rest."""
    if each.ratio is None:
        return (0 if each.new["status"] != each.old["status"] else 3, 0.0)
    return (1 if each.ratio.differs else 2, -each.ratio.value)


def attempts(busy: dict[str, Any]) -> tuple[int, int]:
    """How many repetitions of a run were under load, and how many there were, each with those that were made again."""
    return busy["under_load"] + busy["discarded"], busy["repetitions"] + busy["discarded"]


def was_busy(busy: dict[str, Any]) -> bool:
    under_load, made = attempts(busy)
    return under_load > MUCH * made


def _warnings(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    warnings = []
    differs = machine.difference(old["machine"], new["machine"])
    if differs is not None:
        warnings.append(f"the machines differ, so the ratios say little about the code ({differs})")
    for name, run in (("old", old), ("new", new)):
        if run["busy"]["at_start"] or was_busy(run["busy"]):
            warnings.append(f"the {name} run was measured on a busy machine, so a row that got slower may not be the code's fault, and one "
                            "that got faster not its merit")
    before, after = _median_speed(old), _median_speed(new)
    if before is not None and after is not None and max(before, after) > SPEED_FACTOR * min(before, after):
        warnings.append(f"the host had the CPUs at different speeds: a multiplication took {before:.2f} ns then, {after:.2f} ns now")
    before, after = _median_line(old), _median_line(new)
    if before is not None and after is not None and max(before, after) > STATE_FACTOR * min(before, after):
        warnings.append(f"the host had the CPUs in different places: line round trip {before:.0f} ns then, "
                        f"{after:.0f} ns now; rows with two threads or more are not comparable")
    return warnings


def _median_speed(results: dict[str, Any]) -> float | None:
    speeds = [each["multiply_ns"] for row in results["rows"] for each in row["loads"] if each is not None and each.get("multiply_ns")]
    return median(speeds) if speeds else None


def _median_line(results: dict[str, Any]) -> float | None:
    lines = [line for row in results["rows"] for line in row["line_round_trip_ns"] or [] if line is not None]
    return median(lines) if lines else None
