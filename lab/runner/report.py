"""report.md and report.html, from nothing but the results."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from runner import brief, catalog, chance, comparison, derived, plots, results, standing, stats, tables
from runner.comparison import Comparison
from runner.paths import TEMPLATES
from runner.progress import duration
from runner.runtimes import COFLUX, RUNTIMES
from runner.state import PLAIN, write_atomically
from runner.suites import case_key
from runner.verdicts import CaseResult, Ratio, ResultRow, by_case, losses_first, paired

MARKDOWN = "report.md"
HTML = "report.html"
# Below this the fast one escapes what the slow one does not.
LEAST_TIMED_MS = 100.0
# How a status is told to the reader, the gravest first.
STATUSES = ("wrong", "failed", "timeout", "ok", "unsupported", "unavailable")


@dataclass(frozen=True)
class WorkloadSection:
    """One workload of the report."""

    name: str
    description: str
    item: str
    cases: list[CaseResult]
    plot: str | None
    # Title and plot of each chart of cost against size and against threads.
    curves: list[tuple[str, str]]

    @property
    def has_figures(self) -> bool:
        """Whether an adapter measured more than the time."""
        return any(row.get("figures") for case in self.cases for row in case.every)

    @property
    def has_floor(self) -> bool:
        return any(case.floor is not None for case in self.cases)


@dataclass(frozen=True)
class Variant:
    """A row that speaks for no runtime, against Coflux's."""

    case: CaseResult
    row: ResultRow
    ratio: Ratio | None
    cpu_ratio: Ratio | None

    @property
    def beats_coflux(self) -> bool:
        """Faster than Coflux's row, in a way that the verdicts do not tell."""
        runtime = self.row["runtime"]
        return runtime != COFLUX and not RUNTIMES[runtime].floor and self.ratio is not None and self.ratio.shown and self.ratio.value < 1


@dataclass(frozen=True)
class Missing:
    """Cases for which a runtime gave the same reason for having no figure."""

    runtime: str
    status: str
    reason: str
    cases: str


def write(collected: dict[str, Any], compared: Comparison | None, directory: Path) -> list[Path]:
    """Writes both reports and returns their paths."""
    context = _context(collected, compared)
    written = []
    for name, template, escape in ((MARKDOWN, "report.md.j2", False), (HTML, "report.html.j2", True)):
        text = environment(escape).get_template(template).render(context)
        write_atomically(directory / name, text.rstrip() + "\n")
        written.append(directory / name)
    return written


def runtimes_of(rows: list[ResultRow]) -> list[str]:
    """The runtimes of the results in the order of the table of runtimes."""
    present = {row["runtime"] for row in rows}
    return [name for name in RUNTIMES if name in present]


def _context(collected: dict[str, Any], compared: Comparison | None) -> dict[str, Any]:
    rows = collected["rows"]
    cases = by_case(rows)
    runtimes = runtimes_of(rows)
    names = {case_key(case.workload, case.params, case.threads): f"{case.workload} {case.short_label}" for case in cases}
    return {
        "machine": collected["machine"], "rows": rows, "runtimes": runtimes, "cases": losses_first(cases),
        "columns": _columns(rows), "standing": standing.sentence(cases), "chance": chance.of_run(cases),
        "title": lambda row: names[case_key(row["workload"], row["params"], row["threads"])],
        "runtime_rows": [next(row for row in rows if row["runtime"] == name) for name in runtimes],
        "notes": {name: RUNTIMES[name].note for name in runtimes},
        "colours": {name: plots.colour(name) for name in runtimes},
        "counts": {status: sum(row["status"] == status for row in rows) for status in STATUSES},
        "bad": [row for row in rows if row["status"] in results.BAD],
        "losses": [case for case in losses_first(cases) if case.losses],
        "cpu_losses": [case for case in losses_first(cases) if case.cpu_losses],
        "figure_losses": [case for case in losses_first(cases) if case.figure_losses],
        "plain_losses": [each for each in brief.losses(cases) if each.plain], "named_of": brief.named,
        "variants": _variants(cases), "claim": _claim(rows), "took": duration(collected["seconds"]) if collected.get("seconds") else None,
        "busy": busy_line(collected), "run_notes": collected["notes"],
        "dresses": sorted({row["dress"] for row in rows}), "mallocs": sorted({row["malloc"] for row in rows}),
        "least_cpu_ms": results.LEAST_CPU_NS // 1_000_000,
        "short": [row for row in rows if row["status"] == "ok" and row["timed_ms"] < LEAST_TIMED_MS],
        "loads": [each for row in rows for each in row["loads"] if each is not None],
        "speeds": _speeds(rows),
        "missing": _missing(cases),
        "noted": [row for row in rows if row["status"] == "ok" and row["reason"]],
        "lines": sorted(line for row in rows for line in row["line_round_trip_ns"] or [] if line is not None),
        "ratio_plot": plots.ratios(losses_first(cases), runtimes),
        "workloads": _sections(cases, runtimes),
        "comparison": compared, "seeds": derived.sections(cases), "rounds_note": derived.rounds_note(collected.get("together", False)),
    }


def _columns(rows: list[ResultRow]) -> list[str]:
    """Coflux first, and none that would be empty."""
    return sorted(runtimes_of([row for row in rows if row["status"] not in ("unsupported", "unavailable")]), key=lambda name: name != COFLUX)


def _sections(cases: list[CaseResult], runtimes: list[str]) -> list[WorkloadSection]:
    sections = []
    for name in dict.fromkeys(case.workload for case in cases):
        workload = catalog.all_workloads()[name]
        own = [case for case in cases if case.workload == name]
        sections.append(WorkloadSection(name, workload.DESCRIPTION, workload.ITEM, own, plots.figures(own, runtimes),
                                        _curves(own, runtimes)))
    return sections


def _curves(cases: list[CaseResult], runtimes: list[str]) -> list[tuple[str, str]]:
    return [(f"against {over or 'threads'}: {title}", plot) for over in (*plots.sizes_of(cases), None)
            for title, plot in plots.curves(cases, runtimes, over)]


def _speeds(rows: list[ResultRow]) -> list[float]:
    return sorted(each["multiply_ns"] for row in rows for each in row["loads"] if each is not None and each.get("multiply_ns"))


def busy_line(collected: dict[str, Any]) -> str | None:
    """The first line of a run on a busy machine."""
    busy = collected["busy"]
    said = []
    if busy["at_start"]:
        said.append(f"the machine was busy when the run began ({busy['at_start']})")
    if comparison.was_busy(busy):
        under_load, made = comparison.attempts(busy)
        said.append(f"{under_load} of {made} repetitions were measured under load")
    if not said:
        return None
    if busy["discarded"]:
        said.append(f"{busy['discarded']} were made again")
    return "Measured on a busy machine, so its figures are worth little: " + "; ".join(said)


def _variants(cases: list[CaseResult]) -> list[Variant]:
    """Those that beat Coflux first. Coflux's own other dresses and allocators are no rivals of it."""
    found = [Variant(case, row, paired(row, case.baseline), paired(row, case.baseline, "cpu_samples"))
             for case in cases for row in case.variants]
    return sorted(found, key=lambda each: not each.beats_coflux)


def _claim(rows: list[ResultRow]) -> str:
    """What the intervals of this run cover."""
    counts = sorted({row["n"] for row in rows if row["n"] > 1})
    if not counts:
        return "A single repetition has no interval."
    said = ", ".join(f"{100 * stats.rank(n)[1]:.1f} % at n = {n}" for n in counts)
    few = "" if stats.can_decide(counts[0]) else \
        " With n below 6 no outcome decides at 95 %, so the ratio stands there with its n."
    return f"They hold the true median with {said}, whatever the distribution.{few}"


def _missing(cases: list[CaseResult]) -> list[Missing]:
    """One entry for each runtime and reason; a workload of which no case has a figure appears by its name alone."""
    grouped: dict[tuple[str, str, str], list[CaseResult]] = {}
    for case in cases:
        for row in case.every:
            if row["status"] in ("unsupported", "unavailable"):
                cases_of = grouped.setdefault((row["runtime"], row["status"], row["reason"]), [])
                cases_of += [] if any(each is case for each in cases_of) else [case]
    in_all = Counter(case.workload for case in cases)
    return [Missing(*key, _names(grouped[key], in_all)) for key in sorted(grouped)]


def _names(cases: list[CaseResult], in_all: Counter[str]) -> str:
    here = Counter(case.workload for case in cases)
    if all(here[name] == total for name, total in in_all.items()):
        return "all"
    names = (case.workload if here[case.workload] == in_all[case.workload] else f"{case.workload} {case.short_label}"
             for case in cases)
    return ", ".join(dict.fromkeys(names))


def environment(escape: bool) -> jinja2.Environment:
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=escape, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters.update(ns=tables.nanoseconds, figure=tables.figure, label=catalog.label,
                               short=catalog.short_label, mebibytes=lambda value: f"{value / 2**20:,.1f}",
                               cell=lambda text: str(text).replace("|", "\\|").replace("\n", " "))
    environment.globals.update(against=tables.against_coflux, over_floor=tables.over_floor, interval=tables.interval,
                               cpu_of_row=tables.cpu_of_row, cpu_figure=tables.cpu_figure, who=comparison.who,
                               rival=comparison.rival, own=brief.own, own_plain=lambda loss: brief.own(loss.case, loss.figure, PLAIN), figures=tables.figures, named_figure=tables.named_figure)
    return environment
