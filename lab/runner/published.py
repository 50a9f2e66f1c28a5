"""Which runs the pages are of. The rule: the newest complete run of each machine, all rows of it. A page has one kind of run, and
each machine's figures beside the others'."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from runner import axes, comparison, report, results, stats
from runner.progress import duration
from runner.runtimes import COFLUX, RUNTIMES
from runner.suites import SEED
from runner.verdicts import CaseResult, by_case

STORE = "lab/results"
# The suite of the workloads' pages and of the table of all.
FULL = "full"
# Files of before runs said what they leave out: of so many workloads they are whole.
MOST_WORKLOADS = 30
# The columns of the text below a table.
WIDTH = 120


@dataclass(frozen=True, eq=False)
class Published:
    """A result file and what its pages say of it."""

    collected: dict[str, Any]
    # Relative to the checkout.
    file: str

    @cached_property
    def cases(self) -> list[CaseResult]:
        return by_case(self.collected["rows"])

    @property
    def machine(self) -> str:
        """The processor by its name, and by its family where that is known: one name has several."""
        return processor(self.collected["machine"])

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
        said = (f"{machine['date_utc'][:10]}, {self.machine}, {machine['cores']} CPUs, {machine['distribution']}, "
                f"{rounds} rounds{took}; {_versions(cases)}. Result file: `{self.file}`."
                + (f" {busy}." if busy else ""))
        return filled(said)


def processor(machine: dict[str, Any]) -> str:
    family = machine.get("cpu_family")
    return f"{machine['cpu_model']}" + ("" if family is None else f", family {family} model {machine['cpu_model_number']}")


def kind(collected: dict[str, Any]) -> str | None:
    """The pages that a run has: of an axis, of the seed documents, or of the workloads. None where it has none."""
    axis = axes.of_run(collected)
    return axis or (collected["suite"] if collected["suite"] in (SEED, FULL) else None)


def partial(collected: dict[str, Any]) -> str | None:
    """What keeps a run from being all of its kind, or None."""
    of = kind(collected)
    if of is None:
        return f"it is of the suite {collected['suite']}, and the pages are of {FULL} and {SEED}"
    narrowed = collected.get("narrowed")
    if narrowed is None and of not in (SEED, axes.SEED_RIVALS):
        found = len({row["workload"] for row in collected["rows"]})
        if found < MOST_WORKLOADS:
            return f"it has {found} workloads"
    # A run with rivals from outside need not have the others.
    left_out = [each for each in narrowed or () if not (each == "--runtime" and of in (axes.RIVALS, axes.SEED_RIVALS))]
    if left_out:
        return f"it was narrowed by {', '.join(left_out)}"
    missing = sorted({f"{row['runtime']} ({row['reason']})" for row in collected["rows"]
                      if row["status"] == "unavailable" and row["runtime"] not in axes.OUTSIDE})
    if missing:
        return f"it has no row of {', '.join(missing)}"
    if any(row["status"] == "ok" and not stats.can_decide(row["n"]) for row in collected["rows"]):
        return "it has rows of too few repetitions to decide anything"
    return None


def refusal(collected: dict[str, Any]) -> str | None:
    """Why the run of a directory is not to be published, or None."""
    machine, busy = collected["machine"], collected["busy"]
    if (why := partial(collected)) is not None:
        return f"it is no complete run: {why}"
    if machine["git_dirty"] is not False:
        return "it was measured of a tree with uncommitted changes" if machine["git_dirty"] else "it is of no commit"
    if busy["at_start"] or comparison.was_busy(busy):
        return "the machine was busy"
    return None


def chosen(root: Path) -> dict[str, list[Published]]:
    """By kind, the newest complete run of each machine among the files that are kept; the newest machine's first."""
    newest: dict[tuple[str, str], Published] = {}
    for file in sorted((root / STORE).glob(f"*{results.SUFFIX}")):
        found = Published(results.load(file), str(file.relative_to(root)))
        if partial(found.collected) is None:
            key = kind(found.collected), f"{found.machine}, {found.collected['machine']['cores']}"
            newest[key] = max(newest.get(key, found), found, key=_date)
    of: dict[str, list[Published]] = {}
    for (name, _), found in newest.items():
        of.setdefault(name, []).append(found)
    return {name: sorted(sorted(runs, key=lambda each: each.machine), key=_date, reverse=True) for name, runs in of.items()}


def _date(found: Published) -> str:
    return found.collected["machine"]["date_utc"]


def _versions(cases: list[CaseResult]) -> str:
    """Versions of the runtimes that have a figure there; the floor has none."""
    of = {row["runtime"]: row["version"] for case in cases for row in case.every if row["status"] == "ok"}
    return ", ".join(f"{name} {of[name]}" for name in sorted(of, key=lambda name: name != COFLUX) if not RUNTIMES[name].floor)


def filled(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
