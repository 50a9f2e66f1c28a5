"""--publish: the pages of docs/bench, with the table and picture of all workloads, from the runs that `published` chooses."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workloads.headline import MEMORY

from runner import axes, brief, derived, plots, published, report, results, standing, tables
from runner.paths import ROOT
from runner.published import FULL, STORE, Published, filled
from runner.runtimes import COFLUX, OWN, RUNTIMES
from runner.state import PLAIN, write_atomically
from runner.suites import SEED, case_key
from runner.verdicts import CPU, JUDGED, TIME, CaseResult, Ratio, factor


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
# How many cases are lost, in the README.
STANDING = Block("standing")
# A row for each workload, and the README's picture of them; and every loss.
OVERVIEW = "docs/bench/figures.md"
PICTURE = "docs/bench/figures.svg"
LOSSES = "docs/bench/losses.md"
FRONT = "README.md"
TITLES = {TIME: "ns an item", CPU: "CPU of the whole process, ns an item"} | {name: tables.TITLES[name] for name in JUDGED} | tables.TOLD


class PublishError(Exception):
    """There is nothing to publish, or nowhere."""


def store(directory: Path, root: Path = ROOT) -> Path:
    """Keeps the results of a run in the checkout; a file that is there already stays where it is. Raises PublishError for
    what the rule refuses."""
    if directory.is_file():
        if not directory.resolve().is_relative_to(root / STORE):
            raise PublishError(f"{directory} is not under {STORE}: give the directory of a run, or a file that is there")
        _load(directory)
        return directory.resolve()
    collected = _load(directory)
    if (why := published.refusal(collected)) is not None:
        raise PublishError(f"{directory} is not published: {why}")
    processor = re.sub(r"[^a-z0-9]+", "-", published.processor(collected["machine"]).lower()).strip("-")
    kept = root / STORE / f"{collected['machine']['date_utc'][:10]}-{published.kind(collected)}-{processor}{results.SUFFIX}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(kept, results.compressed(collected))
    return kept


def _load(place: Path) -> dict[str, Any]:
    try:
        return results.load(place)
    except results.ResultsError as error:
        raise PublishError(str(error)) from error


def publish(root: Path = ROOT) -> list[Path]:
    """Writes what the runs that the rule chooses have figures of, and returns what it changed."""
    try:
        chosen = published.chosen(root)
    except results.ResultsError as error:
        raise PublishError(str(error)) from error
    changed = []
    for path, text in pages(chosen, root):
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text)
            changed.append(path)
    return changed


def pages(chosen: dict[str, list[Published]], root: Path) -> Iterator[tuple[Path, str]]:
    """Path and text of all pages. Each is of one kind of run."""
    bench = root / "docs" / "bench"
    for kind, runs in chosen.items():
        if kind in (SEED, axes.SEED_RIVALS):
            # One document has room for one machine.
            yield from _of_seeds(runs[0], bench, kind)
        elif kind == FULL:
            yield from _of_workloads(runs, bench, root)
        elif (page := bench / f"{kind}.md").is_file():
            yield page, FIGURES.within(page, _along(kind, runs))


def _of_workloads(runs: list[Published], bench: Path, root: Path) -> Iterator[tuple[Path, str]]:
    for name in dict.fromkeys(case.workload for found in runs for case in found.cases):
        of = {found: [case for case in found.cases if case.workload == name] for found in runs}
        page = bench / f"{name}.md"
        if page.is_file() and any(_runtimes(cases) for cases in of.values()):
            yield page, FIGURES.within(page, _figures(of))
    newest = brief.lines(runs[0].cases)
    picture = plots.brief_ratios(newest, _runtimes([line.case for line in newest]))
    if picture is not None and (overview := root / OVERVIEW).is_file():
        yield root / PICTURE, base64.b64decode(picture.partition("base64,")[2]).decode("utf-8")
        yield overview, FIGURES.within(overview, _overview(runs))
    for path, block, made in ((root / LOSSES, FIGURES, _losses(runs)), (root / FRONT, STANDING, _front(runs))):
        if path.is_file():
            yield path, block.within(path, made)


def _of_seeds(found: Published, bench: Path, name: str) -> Iterator[tuple[Path, str]]:
    """The page that needs the cases of the seed documents. Those of workloads have other sizes."""
    text = _page(f"{name}_page.md.j2", found, seeds=derived.sections(found.cases),
                 rounds_note=derived.rounds_note(found.collected.get("together", False)))
    steps = _steps(found.cases)
    if name == SEED and {"rdtsc", "allocate", "create_destroy", "create_live", "destroy_live", "switch"} <= set(steps):
        text += "\n" + _page("coroutine_costs_answer.md.j2", found, steps=steps)
    yield bench / f"{name}.md", text


def _page(template: str, found: Published, **context: Any) -> str:
    environment = report.environment(False)
    environment.filters["filled"] = filled
    text = environment.get_template(template).render(context | {"published": found, "machine": found.collected["machine"]})
    return text.rstrip() + "\n"


def _steps(cases: list[CaseResult]) -> dict[str, float]:
    """The floor's median of each step of coroutine_costs."""
    return {case.params["step"]: case.floor["median"] for case in cases if case.workload == "coroutine_costs" and case.floor is not None}


def _runtimes(cases: list[CaseResult]) -> list[str]:
    return report.runtimes_of([row for case in cases for row in case.every if row["status"] == "ok"])


# The cases of a page, by the run that they are of.
Cases = dict[Published, list[CaseResult]]


def _cell(case: CaseResult, name: str, figure: str, dress: str | None) -> str:
    """What a runtime has in a case: its best row in the figure, or its row in a dress, against Coflux's."""
    row = case.speaking(figure, dress).get(name)
    text = "" if row is None else tables.nanoseconds_of(figure, row)
    if not text or figure in tables.TOLD:
        return text
    against = None if name == COFLUX else case.ratio(figure, name, dress)
    said = ", ".join(filter(None, [against and against.text(), tables.beside(row).removeprefix(", ")]))
    text += f" ({said})" if said else ""
    return f"**{text}**" if against and against.less and not RUNTIMES[name].floor else text


def _own(figure: str, case: CaseResult, dress: str) -> str:
    """Coflux itself in another dress, which is the name."""
    each = case.own_dresses(figure).get(dress)
    return "" if each is None else f"{tables.nanoseconds(each.median)} ({each.ratio.text()})"


def _losses_before(rows: list[tuple[CaseResult, str, dict[str, str]]]) -> tuple[bool, bool]:
    """Sorts a case without a figure of Coflux on some machine to the front, then those with a loss."""
    return not any(case.without_figure for case, _, _ in rows), \
        not any(text.startswith("**") for _, _, cells in rows for text in cells.values())


def _table(of: Cases, figure: str, names_workload: bool, dress: str | None = None) -> str:
    """Rows of cases that a runtime beside Coflux has a figure of, those of all machines beneath each other; without such,
    nothing. What Coflux loses stands first where the cases are of one workload. In a table of plain against plain Coflux's
    other dresses have their columns."""
    ordered = sorted({name: None for cases in of.values() for name in _runtimes(cases)}, key=lambda name: name != COFLUX)
    groups: dict[str, list[tuple[CaseResult, str, dict[str, str]]]] = {}
    for found, cases in of.items():
        for case in cases:
            cells = {name: _cell(case, name, figure, dress) for name in ordered}
            if any(text for name, text in cells.items() if name != COFLUX):
                groups.setdefault(case_key(case.workload, case.params, case.threads), []).append((case, found.machine, cells))
    if not groups:
        return ""
    # A stable sort: the others keep their order.
    shown = [row for rows in (groups.values() if names_workload else sorted(groups.values(), key=_losses_before)) for row in rows]
    own = list(dict.fromkeys(each for case, _, _ in shown for each in case.own_dresses(figure))) if dress else []
    runtimes = [name for name in ordered if any(cells[name] for _, _, cells in shown)]
    places = ["machine"] if len(of) > 1 else []
    heads = [*runtimes[:1], *(f"{COFLUX} {each}" for each in own), *runtimes[1:]]
    lines = ["| " + " | ".join(["case", *places, *heads]) + " |", "| --- |" + " --- |" * len(places) + " ---: |" * len(heads)]
    for case, machine, cells in shown:
        label = f"{case.workload} {case.short_label}" if names_workload else case.short_label
        texts = [cells[name] for name in runtimes]
        beside = [_own(figure, case, each) for each in own]
        lines.append("| " + " | ".join([label, *([machine] if places else []), *texts[:1], *beside, *texts[1:]]) + " |")
    return "\n".join(lines)


def _ahead(cases: list[CaseResult]) -> str:
    """Every rival that is ahead of Coflux, best against best, in words: no loss stands in a table alone."""
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
    return " ".join(sentences)


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


def _headlines(cases: list[CaseResult]) -> str:
    """By which figure the verdict is, why, and whose the time is where it has none."""
    said: dict[str, list[str]] = {}
    for case in cases:
        of = case.headline
        by = "no verdict" if of.figure is None else f"the verdict is by {brief.named(of.figure)}"
        time = "" if of.time_of is None else f"; its time is {of.time_of}, and has no verdict"
        said.setdefault(f"{by}: {of.reason}{time}.", []).append(case.short_label)
    return " ".join(text[:1].upper() + text[1:] if len(said) == 1 else f"{', '.join(dict.fromkeys(labels))}: {text}"
                    for text, labels in said.items())


def _allocators(figure: str, cases: list[CaseResult]) -> str:
    """Of which allocators each runtime has its best in a figure of memory."""
    names = sorted({row["malloc"] for case in cases for row in case.every if figure in row.get("figures", {})} - {OWN})
    if figure not in MEMORY or not names:
        return ""
    return f", each runtime with its best of {', '.join(names)}" if len(names) > 1 else f", with {names[0]} alone"


def _figures(of: Cases, names_workload: bool = False) -> str:
    of = {found: [case for case in cases if any(row["status"] == "ok" for row in case.rows.values())]
          for found, cases in of.items()}
    every = [case for cases in of.values() for case in cases]
    has_dresses = any(row["status"] == "ok" and row["dress"] != PLAIN for case in every for row in case.every)
    parts = []
    for figure, title in TITLES.items():
        title += _allocators(figure, every)
        if table := _table(of, figure, names_workload):
            parts.append(f"{title}:\n\n{table}\n")
        if has_dresses and figure not in tables.TOLD and (table := _table(of, figure, names_workload, PLAIN)):
            parts.append(f"{title}, plain against plain:\n\n{table}\n")
    said = ("Medians; in brackets the ratio to Coflux's, round by round; bold: less than Coflux's. Each runtime is in the dress that "
            "is best in the figure, where no other is named.")
    ahead = [] if names_workload else [filled((f"{found.machine}: " if len(of) > 1 else "") + text)
                                       for found, cases in of.items() if (text := _ahead(cases))]
    sources = [found.source_of(cases) for found, cases in of.items()]
    headlines = [_counts(found, len(of) > 1) for found in of] if names_workload else [filled(_headlines(every))]
    return "\n\n".join(["## Figures", filled(said), *filter(None, headlines), *(part.rstrip() for part in parts), *ahead, *sources]) + "\n"


def _along(axis: str, runs: list[Published]) -> str:
    if axis == axes.ALLOCATORS:
        return "\n\n".join(_with_allocators(found) for found in runs) + "\n"
    return _figures({found: axes.with_free_threads(found.cases) if axis == axes.ONE_THREAD else found.cases for found in runs},
                    names_workload=True)


def _with_allocators(found: Published) -> str:
    best = axes.each_with_its_best([case for case in found.cases if axes.is_scheduled(case)])
    said = ("Medians, ns an item; in brackets the ratio to Coflux with its recommended allocator, round by round; bold: less.")
    return "\n\n".join(["## Figures", filled(said), *([filled(best)] if best else []), axes.allocator_table(found.cases), found.source])


def _counts(found: Published, together: bool) -> str:
    said = " ".join(filter(None, [standing.sentence(found.cases), standing.cpu_sentence(found.cases)]))
    return filled(f"{found.machine}: {said[:1].lower()}{said[1:]}" if together else said)


def _overview(runs: list[Published]) -> str:
    together = len(runs) > 1
    said = ("Each row has the figure that it is judged by, and the ratio to Coflux's, round by round, best dress against best dress. "
            "Losses that are decided come first, in bold. Each workload has the case in which Coflux is worst, and the two rivals "
            "that are furthest ahead, or nearest; the last column has the first of them plain against plain. An empty cell "
            "has no figure. Cases in which no runtime takes part are left out. A row's page has all cases, all runtimes and the "
            "floor, and says what is known of a loss. [losses.md](losses.md) has every loss.")
    parts = [filled(said), *(_counts(found, together) for found in runs), _brief_table(runs),
             f"![Each runtime's figure over Coflux's, left of the line better]({Path(PICTURE).name})"]
    if together:
        parts.append(f"The picture is of {runs[0].machine}.")
    return "\n\n".join([*parts, *(found.source for found in runs)]) + "\n"


def _brief_table(runs: list[Published]) -> str:
    """The lines of all runs; each has its cells of every run that has the case."""
    wanted = {line.key: line for found in reversed(runs) for line in brief.lines(found.cases)}
    ordered = {line.key: line for found in runs for line in brief.lines(found.cases)} | wanted
    by_run = [{case_key(case.workload, case.params, case.threads): case for case in found.cases} for found in runs]
    heads = ["coflux", "best rival", "second best", "plain"]
    names = [f"{found.machine}: {head}" if len(runs) > 1 else head for found in runs for head in heads]
    lines = ["| row | " + " | ".join(names) + " |", "| --- |" + " ---: |" * len(names)]
    for (case, figure), line in ordered.items():
        cells = []
        for known in by_run:
            there = known.get(case)
            has = there is not None and (there is line.case or there.rivals(figure))
            cells += brief.Line(there, figure).cells if has else [""] * len(heads)
        lines.append(f"| {line.label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _losses(runs: list[Published]) -> str:
    """Every loss of every machine that its test decides."""
    together = len(runs) > 1
    by_run = [{each.key: each for each in brief.losses(found.cases)} for found in runs]
    every = {key: each for known in reversed(by_run) for key, each in known.items()}
    heads = [found.machine if together else "Coflux, and who is ahead" for found in runs]
    lines = ["| case and figure | " + " | ".join(heads) + " |", "| --- |" + " --- |" * len(heads)]
    for key, each in sorted(every.items(), key=lambda item: (item[1].figure != item[1].case.headline.figure, item[1].worst)):
        lines.append(f"| {each.label} | " + " | ".join(known[key].text if key in known else "" for known in by_run) + " |")
    said = ("Coflux's figure, and each rival that the sign test finds ahead, best dress against best dress; then what is lost plain "
            "against plain beside that. The figure that a row is judged by is bold, and such losses come first.")
    return "\n\n".join([filled(said), "\n".join(lines), *(found.source for found in runs)]) + "\n"


def _front(runs: list[Published]) -> str:
    return "\n\n".join(_counts(found, len(runs) > 1) for found in runs) + "\n"
