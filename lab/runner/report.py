"""report.md and report.html, from nothing but the results."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from runner import catalog, plots, results, tables
from runner.comparison import Comparison
from runner.paths import TEMPLATES
from runner.runtimes import RUNTIMES
from runner.state import write_atomically
from runner.verdicts import CaseResult, ResultRow, by_case, losses_first

MARKDOWN = "report.md"
HTML = "report.html"
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

    @property
    def has_floor(self) -> bool:
        return any(case.floor is not None for case in self.cases)


@dataclass(frozen=True)
class Missing:
    """Cases for which a runtime gave the same reason for having no figure."""

    runtime: str
    status: str
    reason: str
    cases: str


def write(collected: dict[str, Any], comparison: Comparison | None, directory: Path) -> list[Path]:
    """Writes both reports and returns their paths."""
    context = _context(collected, comparison)
    written = []
    for name, template, escape in ((MARKDOWN, "report.md.j2", False), (HTML, "report.html.j2", True)):
        text = _environment(escape).get_template(template).render(context)
        write_atomically(directory / name, text.rstrip() + "\n")
        written.append(directory / name)
    return written


def runtimes_of(rows: list[ResultRow]) -> list[str]:
    """The runtimes of the results in the order of the table of runtimes."""
    present = {row["runtime"] for row in rows}
    return [name for name in RUNTIMES if name in present]


def _context(collected: dict[str, Any], comparison: Comparison | None) -> dict[str, Any]:
    rows = collected["rows"]
    cases = by_case(rows)
    runtimes = runtimes_of(rows)
    return {
        "machine": collected["machine"], "rows": rows, "runtimes": runtimes, "cases": losses_first(cases),
        "runtime_rows": [next(row for row in rows if row["runtime"] == name) for name in runtimes],
        "notes": {name: RUNTIMES[name].note for name in runtimes},
        "colours": {name: plots.colour(name) for name in runtimes},
        "counts": {status: sum(row["status"] == status for row in rows) for status in STATUSES},
        "bad": [row for row in rows if row["status"] in results.BAD],
        "losses": [case for case in losses_first(cases) if case.losses],
        "missing": _missing(cases),
        "straddling": [row for row in rows if row["status"] == "ok" and row["reason"]],
        "lines": sorted(line for row in rows for line in row["line_round_trip_ns"] or [] if line is not None),
        "ratio_plot": plots.ratios(losses_first(cases), runtimes),
        "workloads": _sections(cases, runtimes),
        "comparison": comparison,
    }


def _sections(cases: list[CaseResult], runtimes: list[str]) -> list[WorkloadSection]:
    sections = []
    for name in dict.fromkeys(case.workload for case in cases):
        workload = catalog.all_workloads()[name]
        own = [case for case in cases if case.workload == name]
        sections.append(WorkloadSection(name, workload.DESCRIPTION, workload.ITEM, own, plots.bars(own, runtimes)))
    return sections


def _missing(cases: list[CaseResult]) -> list[Missing]:
    """One entry for each runtime and reason; a workload of which no case has a figure appears by its name alone."""
    grouped: dict[tuple[str, str, str], list[CaseResult]] = {}
    for case in cases:
        for runtime, row in case.rows.items():
            if row["status"] in ("unsupported", "unavailable"):
                grouped.setdefault((runtime, row["status"], row["reason"]), []).append(case)
    in_all = Counter(case.workload for case in cases)
    return [Missing(*key, _names(grouped[key], in_all)) for key in sorted(grouped)]


def _names(cases: list[CaseResult], in_all: Counter[str]) -> str:
    here = Counter(case.workload for case in cases)
    if all(here[name] == total for name, total in in_all.items()):
        return "all"
    names = (case.workload if here[case.workload] == in_all[case.workload] else f"{case.workload} {case.short_label}"
             for case in cases)
    return ", ".join(dict.fromkeys(names))


def _environment(escape: bool) -> jinja2.Environment:
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=escape, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters.update(ns=tables.nanoseconds, figure=tables.figure, label=catalog.label,
                               short=catalog.short_label, mebibytes=lambda value: f"{value / 2**20:,.1f}",
                               cell=lambda text: str(text).replace("|", "\\|").replace("\n", " "))
    environment.globals.update(against=tables.against_coflux, over_floor=tables.over_floor)
    return environment
