"""--publish: the pages of docs/bench, and README's table and picture, from one result file under lab/results."""

from __future__ import annotations

import base64
import json
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner import axes, catalog, derived, plots, report, results, seeds, tables
from runner.paths import ROOT
from runner.progress import duration
from runner.runtimes import COFLUX, RUNTIMES
from runner.state import PLAIN, write_atomically
from runner.suites import SEED
from runner.verdicts import JUDGED, CaseResult, Ratio, by_case, losses_first

# What stands between these lines is the generator's.
BEGIN, END = "<!-- figures: made by scripts/lab --publish -->", "<!-- figures end -->"
BLOCK = re.compile(re.escape(BEGIN) + r"\n.*?" + re.escape(END) + r"\n", re.DOTALL)
PICTURE = "docs/bench/figures.svg"
# README tells the whole: a run of fewer workloads leaves it as it is.
README_WORKLOADS = 12
STORE = "lab/results"
# Of the text below a table.
WIDTH = 120
# How a table of each is headed.
TITLES = {"p50_ns": "p50, ns", "p99_ns": "p99, ns", "bytes_each": "bytes each",
          "kept_bytes": "bytes that are kept at once", "kept_when_idle_bytes": "bytes that are kept when it has been idle"}
# Those that README's table has a column of; another one stands there where it is among the two best of its row.
MAIN = ("asio", "tbb", "tokio", "go", "std")


class PublishError(Exception):
    """There is nothing to publish, or nowhere."""


@dataclass(frozen=True)
class Published:
    """A result file and what its pages say of it."""

    collected: dict[str, Any]
    # Relative to the checkout.
    file: str

    @property
    def cases(self) -> list[CaseResult]:
        return by_case(self.collected["rows"])

    @property
    def source(self) -> str:
        return self.source_of(self.cases)

    def source_of(self, cases: list[CaseResult]) -> str:
        """Where, when, how and of which versions: the first thing below a table of these cases."""
        machine = self.collected["machine"]
        counts = sorted({row["n"] for row in self.collected["rows"] if row["n"]})
        rounds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}" if counts else "no"
        busy = report.busy_line(self.collected)
        seconds = self.collected.get("seconds")
        took = f" in {duration(seconds)}" if seconds else ""
        said = (f"{machine['date_utc'][:10]}, {machine['cpu_model']}, {machine['cores']} CPUs, {machine['distribution']}, "
                f"{rounds} rounds{took}; {_versions(cases)}. Result file: `{self.file}`."
                + (f" {busy}." if busy else ""))
        return textwrap.fill(said, WIDTH, break_on_hyphens=False)


def store(directory: Path, root: Path = ROOT) -> Path:
    """Keeps the results of a run in the checkout; a file that is there already stays where it is."""
    if directory.is_file():
        if not directory.resolve().is_relative_to(root / STORE):
            raise PublishError(f"{directory} is not under {STORE}: give the directory of a run, or a file that is there")
        return directory.resolve()
    try:
        collected = results.load(directory)
    except results.ResultsError as error:
        raise PublishError(str(error)) from error
    name = axes.of_run(collected) or collected["suite"] or "run"
    kept = root / STORE / f"{collected['machine']['date_utc'][:10]}-{name}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(kept, json.dumps(collected, separators=(",", ":")) + "\n")
    return kept


def publish(file: Path, root: Path = ROOT) -> list[Path]:
    """Writes what the file has figures of, and returns what it changed."""
    try:
        collected = results.read(file)
    except results.ResultsError as error:
        raise PublishError(str(error)) from error
    found = Published(collected, str(file.relative_to(root)))
    changed = []
    for path, text in pages(found, root):
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text)
            changed.append(path)
    return changed


def pages(found: Published, root: Path) -> Iterator[tuple[Path, str]]:
    """Path and text of all that the file speaks for."""
    bench = root / "docs" / "bench"
    axis = axes.of_run(found.collected)
    if axis and axis != axes.SEED_RIVALS:
        page = bench / f"{axis}.md"
        if page.is_file():
            yield page, _with_block(page.read_text(encoding="utf-8"), _along(axis, found))
        return
    if found.collected["suite"] == SEED:
        yield from _of_seeds(found, bench, axis or SEED)
        return
    by_workload: dict[str, list[CaseResult]] = {}
    for case in found.cases:
        by_workload.setdefault(case.workload, []).append(case)
    for name, cases in by_workload.items():
        page = bench / f"{name}.md"
        if page.is_file() and _runtimes(cases):
            yield page, _with_block(page.read_text(encoding="utf-8"), _figures(found, cases))
    picked = _picked(by_workload)
    readme = root / "README.md"
    if len(picked) >= README_WORKLOADS and BLOCK.search(readme.read_text(encoding="utf-8")):
        picture = plots.ratios(picked, _runtimes(picked), brief=True)
        if picture is not None:
            yield root / PICTURE, base64.b64decode(picture.partition("base64,")[2]).decode("utf-8")
            yield readme, _with_block(readme.read_text(encoding="utf-8"), _readme(found, picked))


def _of_seeds(found: Published, bench: Path, name: str) -> Iterator[tuple[Path, str]]:
    """The pages that need the cases of the seed documents. Those of workloads have other sizes, and stay as they are."""
    sections = derived.sections(found.cases)
    yield bench / f"{name}.md", _page(f"{name}_page.md.j2", found, seeds=sections, documents=seeds.DOCUMENTS,
                                     rounds_note=derived.rounds_note(found.collected.get("together", False)),
                                     mapping=[(document, list(_mapping(document))) for document in seeds.DOCUMENTS])
    steps = _steps(found.cases)
    if name == SEED and {"rdtsc", "allocate", "create_destroy", "create_live", "destroy_live", "switch"} <= set(steps):
        yield bench / "coroutine-costs.md", _page("coroutine_costs_page.md.j2", found, steps=steps,
                                                  section=next(each for each in sections if each.document is seeds.COROUTINES))


def _versions(cases: list[CaseResult]) -> str:
    """Of the runtimes that have a figure there; the floor has none."""
    of = {row["runtime"]: row["version"] for case in cases for row in case.every if row["status"] == "ok"}
    return ", ".join(f"{name} {of[name]}" for name in sorted(of, key=lambda name: name != COFLUX) if not RUNTIMES[name].floor)


def _along(axis: str, found: Published) -> str:
    if axis == axes.ALLOCATORS:
        return (f"## Figures\n\nMedians, ns an item; in brackets the ratio to Coflux with its recommended allocator, round by round; "
                f"bold: less.\n\n{axes.allocator_table(found.cases)}\n\n{found.source}\n")
    return _figures(found, axes.with_free_threads(found.cases) if axis == axes.ONE_THREAD else found.cases, names_workload=True)


def _page(template: str, found: Published, **context: Any) -> str:
    text = report.environment(False).get_template(template).render(context | {"published": found, "machine": found.collected["machine"]})
    return text.rstrip() + "\n"


def _mapping(document: seeds.Document) -> Iterator[tuple[str, str]]:
    """Each experiment of a document, and which case it is here."""
    def told(term: seeds.Term) -> str:
        threads = {seeds.ONE: ", one thread"}.get(term.threads, "")
        return f"[{term.workload}]({term.workload}.md) {catalog.short_label(term.params)}{threads}{', the floor' if term.floor else ''}"
    for table in document.tables:
        for each in table.experiments:
            yield each.name, told(each.term) + ("" if each.minus is None else f", less {told(each.minus)}") + (", CPU" if each.cpu else "")
    for other in document.elsewhere:
        yield other.name, other.reason


def _steps(cases: list[CaseResult]) -> dict[str, float]:
    """The floor's median of each step of coroutine_costs."""
    return {case.params["step"]: case.floor["median"] for case in cases if case.workload == "coroutine_costs" and case.floor is not None}


def _runtimes(cases: list[CaseResult]) -> list[str]:
    return [name for name in report.runtimes_of([row for case in cases for row in case.every if row["status"] == "ok"])]


def _picked(by_workload: dict[str, list[CaseResult]]) -> list[CaseResult]:
    """The case of each workload that has the most items, of those in which Coflux and a rival have a figure; losses
    first."""
    picked = []
    for cases in by_workload.values():
        comparable = [case for case in cases if case.baseline is not None and case.baseline["status"] == "ok" and
                      any(case.ratio_to_baseline(name) for name in case.rows if name != COFLUX)]
        if comparable:
            picked.append(max(comparable, key=lambda case: case.baseline["items"]))
    return losses_first(picked)


# A cell: what a runtime has in a case, or nothing.
Cell = Callable[[CaseResult, str], str]


def _time(case: CaseResult, name: str) -> str:
    row = case.rows.get(name)
    if row is None or row["status"] != "ok":
        return ""
    against = tables.against_coflux(case, name)
    return _told(case.losses, name, tables.figure(row) + (f" ({against})" if against else ""))


def _cpu(case: CaseResult, name: str) -> str:
    row = case.rows.get(name)
    if row is None or row["status"] != "ok" or row["cpu_median"] is None:
        return ""
    against = tables.cpu_against_coflux(case, name)
    return _told(case.cpu_losses, name, tables.nanoseconds(row["cpu_median"]) + (f" ({against})" if against else ""))


def _figure(figure: str) -> Cell:
    """Of what was measured beside the time: each contender in the dress that is best in it."""
    def cell(case: CaseResult, name: str) -> str:
        if name == COFLUX:
            found = case.baseline is not None and case.baseline.get("figures", {}).get(figure)
            return tables.nanoseconds(found["median"]) if found else ""
        for each in case.figure_ratios:
            if each.name == figure and each.row["runtime"] == name:
                dress = "" if each.row["dress"] == PLAIN else f", {each.row['dress']}"
                text = f"{tables.nanoseconds(each.median)} ({each.ratio.text()}{dress})"
                return f"**{text}**" if each in case.figure_losses else text
        return ""
    return cell


def _table(cases: list[CaseResult], cell: Cell, names_workload: bool) -> str:
    """Rows of cases that a runtime beside Coflux has a figure of; without such, nothing."""
    ordered = sorted(_runtimes(cases), key=lambda name: name != COFLUX)
    rows = [(case, {name: cell(case, name) for name in ordered}) for case in cases]
    rows = [(case, cells) for case, cells in rows if any(text for name, text in cells.items() if name != COFLUX)]
    if not rows:
        return ""
    runtimes = [name for name in ordered if any(cells[name] for _, cells in rows)]
    lines = ["| case | " + " | ".join(runtimes) + " |", "| --- |" + " ---: |" * len(runtimes)]
    for case, cells in rows:
        label = f"{case.workload} {case.short_label}" if names_workload else case.short_label
        lines.append(f"| {label} | " + " | ".join(cells[name] for name in runtimes) + " |")
    return "\n".join(lines)


def _brief_table(cases: list[CaseResult]) -> str:
    """Of each case Coflux, the two fastest contenders by name, and the ratios of the main ones: no column is nearly
    empty."""
    main = [name for name in MAIN if name in _runtimes(cases)]
    lines = [f"| row | {COFLUX} | best rival | second best | " + " | ".join(main) + " |", "| --- |" + " ---: |" * (3 + len(main))]
    for case in cases:
        best = [_rival(case, name) for name in _contenders(case)[:2]]
        ratios = [_told(case.losses, name, against.text()) if (against := case.ratio_to_baseline(name)) else ""
                  for name in main]
        cells = [tables.figure(case.baseline), *best, *[""] * (2 - len(best)), *ratios]
        lines.append(f"| [{case.workload}](docs/bench/{case.workload}.md) {case.short_label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _contenders(case: CaseResult) -> list[str]:
    """The fastest first. The floor is none."""
    rated = {name: against.value for name in case.rows
             if name != COFLUX and not RUNTIMES[name].floor and (against := case.ratio_to_baseline(name))}
    return sorted(rated, key=rated.__getitem__)


def _rival(case: CaseResult, name: str) -> str:
    """A contender with its figure and how that stands to Coflux's."""
    return _told(case.losses, name, f"{name} {tables.figure(case.rows[name])} ({tables.against_coflux(case, name)})")


def _told(losses: dict[str, Ratio], name: str, text: str) -> str:
    return f"**{text}**" if name in losses else text


def _figures(found: Published, cases: list[CaseResult], names_workload: bool = False) -> str:
    shown = [case for case in cases if any(row["status"] == "ok" for row in case.rows.values())]
    cells = {"ns an item": _time, "CPU of the whole process, ns an item": _cpu}
    cells |= {TITLES[name]: _figure(name) for name in JUDGED}
    parts = [f"{title}:\n\n{table}\n" for title, cell in cells.items() if (table := _table(shown, cell, names_workload))]
    return ("## Figures\n\nMedians; in brackets the ratio to Coflux's, round by round; bold: less than Coflux's.\n\n"
            + "\n".join(parts) + f"\n{found.source_of(cases)}\n")


def _readme(found: Published, picked: list[CaseResult]) -> str:
    return (f"ns an item, and the time over Coflux's, round by round. Losses stand first, in bold. Of each workload the largest\n"
            f"case, and the two fastest rivals beside the ratios of {', '.join(f'`{name}`' for name in MAIN)}; an empty cell has no figure.\n"
            f"A row's page says what is measured and, of a loss, what is known of it; it has the floor and all others.\n\n"
            f"{_brief_table(picked)}\n\n"
            f"![Each runtime's time over Coflux's, left of the line faster]({PICTURE})\n\n{found.source}\n")


def _with_block(text: str, block: str) -> str:
    """The block in place of the one before, or at the end."""
    whole = f"{BEGIN}\n{block}{END}\n"
    if BLOCK.search(text):
        return BLOCK.sub(lambda _: whole, text, count=1)
    return f"{text.rstrip()}\n\n{whole}"
