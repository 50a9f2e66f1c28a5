"""--publish: the pages of docs/bench, with the table and picture of all workloads, from one result file of lab/results."""

from __future__ import annotations

import base64
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner import axes, brief, catalog, derived, plots, report, results, seeds, standing, tables
from runner.paths import ROOT
from runner.progress import duration
from runner.runtimes import COFLUX, RUNTIMES
from runner.state import PLAIN, write_atomically
from runner.suites import SEED
from runner.verdicts import CPU, JUDGED, TIME, CaseResult, Ratio, by_case, factor


@dataclass(frozen=True)
class Block:
    """The lines of a page between two marks, which are the generator's."""

    name: str

    @property
    def begin(self) -> str:
        return f"<!-- {self.name}: made by scripts/lab --publish -->"

    @property
    def end(self) -> str:
        return f"<!-- {self.name} end -->"

    def within(self, page: Path, made: str) -> str:
        """The page with what was made in place of what was there, or at its end."""
        text = page.read_text(encoding="utf-8")
        whole = f"{self.begin}\n{made}{self.end}\n"
        there = re.compile(re.escape(self.begin) + r"\n.*?" + re.escape(self.end) + r"\n", re.DOTALL)
        return there.sub(lambda _: whole, text, count=1) if there.search(text) else f"{text.rstrip()}\n\n{whole}"


FIGURES = Block("figures")
# The answer to a seed document in the page of coroutine_costs, from a run of the suite `seed`.
ANSWER = Block("answer")
# A row for each workload, and the README's picture of them.
OVERVIEW = "docs/bench/figures.md"
PICTURE = "docs/bench/figures.svg"
# A run of fewer workloads leaves both as they are.
OVERVIEW_WORKLOADS = 12
STORE = "lab/results"
# The columns of the text below a table.
WIDTH = 120


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
        return _filled(said)


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
    kept = root / STORE / f"{collected['machine']['date_utc'][:10]}-{name}{results.SUFFIX}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(kept, results.compressed(collected))
    return kept


def publish(file: Path, root: Path = ROOT) -> list[Path]:
    """Writes what the file has figures of, and returns what it changed."""
    try:
        collected = results.load(file)
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
            yield page, FIGURES.within(page, _along(axis, found))
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
            yield page, FIGURES.within(page, _figures(found, cases))
    lines = brief.lines(found.cases)
    overview = root / OVERVIEW
    if len(lines) >= OVERVIEW_WORKLOADS and overview.is_file():
        picture = plots.brief_ratios(lines, _runtimes([line.case for line in lines]))
        if picture is not None:
            yield root / PICTURE, base64.b64decode(picture.partition("base64,")[2]).decode("utf-8")
            yield overview, FIGURES.within(overview, _overview(found, lines))


def _of_seeds(found: Published, bench: Path, name: str) -> Iterator[tuple[Path, str]]:
    """The pages that need the cases of the seed documents. Those of workloads have other sizes, and stay as they are."""
    sections = derived.sections(found.cases)
    yield bench / f"{name}.md", _page(f"{name}_page.md.j2", found, seeds=sections, documents=seeds.DOCUMENTS,
                                     rounds_note=derived.rounds_note(found.collected.get("together", False)),
                                     mapping=[(document, list(_mapping(document))) for document in seeds.DOCUMENTS])
    steps = _steps(found.cases)
    page = bench / "coroutine_costs.md"
    if name == SEED and page.is_file() and {"rdtsc", "allocate", "create_destroy", "create_live", "destroy_live", "switch"} <= set(steps):
        section = next(each for each in sections if each.document is seeds.COROUTINES)
        yield page, ANSWER.within(page, _page("coroutine_costs_answer.md.j2", found, steps=steps, section=section))


def _versions(cases: list[CaseResult]) -> str:
    """Versions of the runtimes that have a figure there; the floor has none."""
    of = {row["runtime"]: row["version"] for case in cases for row in case.every if row["status"] == "ok"}
    return ", ".join(f"{name} {of[name]}" for name in sorted(of, key=lambda name: name != COFLUX) if not RUNTIMES[name].floor)


def _along(axis: str, found: Published) -> str:
    if axis == axes.ALLOCATORS:
        best = axes.each_with_its_best([case for case in found.cases if axes.is_scheduled(case)])
        return (f"## Figures\n\nMedians, ns an item; in brackets the ratio to Coflux with its recommended allocator, round by round; "
                "bold: less.\n\n" + (f"{_filled(best)}\n\n" if best else "")
                + f"{axes.allocator_table(found.cases)}\n\n{found.source}\n")
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


# A cell: what a runtime has in a case, or nothing.
Cell = Callable[[CaseResult, str], str]


def _time(case: CaseResult, name: str) -> str:
    row = case.rows.get(name)
    if row is None or row["status"] != "ok":
        return ""
    against = tables.against_coflux(case, name)
    return _told(case.losses, name, tables.figure(row) + (f" ({against})" if against else ""))


def _cpu(case: CaseResult, name: str) -> str:
    row = case.cpu_rows.get(name)
    if row is None or row["status"] != "ok" or row["cpu_median"] is None:
        return ""
    against = tables.cpu_against_coflux(case, name)
    return _told(case.cpu_losses, name, tables.nanoseconds(row["cpu_median"]) + (f" ({against})" if against else ""))


def _figure(figure: str) -> Cell:
    """A figure that was measured beside the time, of each contender in the dress that is best in it."""
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


def _told_figure(figure: str) -> Cell:
    """The same without a verdict: of the dress that speaks for its runtime."""
    def cell(case: CaseResult, name: str) -> str:
        found = case.rows.get(name, {}).get("figures", {}).get(figure)
        return tables.nanoseconds(found["median"]) if found else ""
    return cell


def _own(figure: str) -> Cell:
    """Coflux itself in another dress, which is the name."""
    def cell(case: CaseResult, dress: str) -> str:
        each = case.own_dresses(figure).get(dress)
        return "" if each is None else f"{tables.nanoseconds(each.median)} ({each.ratio.text()})"
    return cell


def _losses_before(row: tuple[CaseResult, dict[str, str]]) -> tuple[bool, bool]:
    """Sorts a case without a figure of Coflux to the front, then those with a loss."""
    case, cells = row
    return not case.without_figure, not any(text.startswith("**") for text in cells.values())


def _table(cases: list[CaseResult], figure: str, names_workload: bool) -> str:
    """Rows of cases that a runtime beside Coflux has a figure of; without such, nothing. What Coflux loses stands first
    where the cases are of one workload, and Coflux's other dresses have their columns there."""
    judged = figure not in tables.TOLD
    cell = {TIME: _time, CPU: _cpu}.get(figure) or (_figure(figure) if judged else _told_figure(figure))
    ordered = sorted(_runtimes(cases), key=lambda name: name != COFLUX)
    rows = [(case, {name: cell(case, name) for name in ordered}) for case in cases]
    rows = [(case, cells) for case, cells in rows if any(text for name, text in cells.items() if name != COFLUX)]
    if not rows:
        return ""
    own: list[str] = []
    if not names_workload:
        # A stable sort: the others keep their order.
        rows.sort(key=_losses_before)
        own = list(dict.fromkeys(dress for case, _ in rows for dress in case.own_dresses(figure) if judged))
    runtimes = [name for name in ordered if any(cells[name] for _, cells in rows)]
    heads = [*runtimes[:1], *(f"{COFLUX} {dress}" for dress in own), *runtimes[1:]]
    lines = ["| case | " + " | ".join(heads) + " |", "| --- |" + " ---: |" * len(heads)]
    for case, cells in rows:
        label = f"{case.workload} {case.short_label}" if names_workload else case.short_label
        texts = [cells[name] for name in runtimes]
        beside = [_own(figure)(case, dress) for dress in own]
        lines.append(f"| {label} | " + " | ".join([*texts[:1], *beside, *texts[1:]]) + " |")
    return "\n".join(lines)


def _ahead(cases: list[CaseResult]) -> str:
    """Every rival that is ahead of Coflux, in words: no loss stands in a table alone."""
    ratios: dict[str, dict[str, list[Ratio]]] = {}
    for figure in (TIME, CPU, *tables.TITLES):
        for each in [each for case in cases for each in case.rivals(figure).values()]:
            ratios.setdefault(figure, {}).setdefault(each.row["runtime"], []).append(each.ratio)
    said = [f"in {tables.TITLES.get(figure, figure).partition(',')[0]}: {', '.join(ahead)}"
            for figure, of in ratios.items() if (ahead := _losses_of(of, len(cases) > 1))]
    sentences = []
    if ratios:
        sentences.append(f"Ahead of Coflux {'; '.join(said)}." if said else "Nobody is ahead of Coflux here.")
    if without := sum(case.without_figure for case in cases):
        sentences.append(f"Coflux has no figure in {without} of {len(cases)} cases.")
    return _filled(" ".join(sentences))


def _losses_of(ratios: dict[str, list[Ratio]], counted: bool) -> list[str]:
    """Each rival with losses of Coflux's, the greatest first: from which ratio to which, and in how many cases."""
    least: dict[str, float] = {}
    for name, of in ratios.items():
        if values := [each.value for each in of if each.less]:
            decided = any(each.less and each.differs for each in of)
            told = " to ".join(dict.fromkeys((factor(min(values)), factor(max(values)))))
            cases = f" in {len(values)} of {len(of)} cases" if counted else ""
            least[f"{name} {told}{'' if decided else ' (undecided)'}{cases}"] = min(values)
    return sorted(least, key=least.__getitem__)


def _told(losses: dict[str, Ratio], name: str, text: str) -> str:
    return f"**{text}**" if name in losses else text


def _figures(found: Published, cases: list[CaseResult], names_workload: bool = False) -> str:
    shown = [case for case in cases if any(row["status"] == "ok" for row in case.rows.values())]
    titles = {TIME: "ns an item", CPU: "CPU of the whole process, ns an item"}
    titles |= {name: tables.TITLES[name] for name in JUDGED} | tables.TOLD
    parts = [f"{title}:\n\n{table}\n" for figure, title in titles.items()
             if (table := _table(shown, figure, names_workload))]
    ahead = "" if names_workload else _ahead(shown)
    return ("## Figures\n\nMedians; in brackets the ratio to Coflux's, round by round; bold: less than Coflux's.\n\n"
            + "\n".join(parts) + (f"\n{ahead}\n" if ahead else "") + f"\n{found.source_of(cases)}\n")


def _overview(found: Published, lines: list[brief.Line]) -> str:
    main = ", ".join(f"`{name}`" for name in brief.MAIN)
    said = ("ns an item, or what the row names in its place, and the ratio to Coflux's, round by round. Losses come "
            "first, in bold. Each workload has the case in which Coflux is worst, and the two best rivals beside "
            f"the ratios of {main}; an empty cell has no figure. Cases without any scheduling are left out. A row's "
            "page says what is measured and, of a loss, what is known of it; it has all cases, all runtimes and the "
            "floor.")
    counts = ["Every case of the run counts here.", standing.sentence(found.cases), standing.cpu_sentence(found.cases)]
    parts = [_filled(said), _filled(" ".join(filter(None, counts))), brief.table(lines),
             f"![Each runtime's figure over Coflux's, left of the line better]({Path(PICTURE).name})", found.source]
    return "\n\n".join(parts) + "\n"


def _filled(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
