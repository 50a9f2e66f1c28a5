"""Runs that go along an axis: with rivals from outside, on one thread, with each allocator. Each has a result file and a page
of its own, and leaves the pages of workloads as they are."""

from __future__ import annotations

from typing import Any

from workloads.headline import MEMORY

from runner import catalog, standing, tables
from runner.runtimes import COFLUX, RUNTIMES
from runner.suites import SEED
from runner.verdicts import TIME, CaseResult, Ratio, ResultRow, factor, paired

# That no distribution of the lab's has: few can make such a run again.
OUTSIDE = ("folly", "libfork", "seastar", "toomanycooks")
RIVALS, SEED_RIVALS, ONE_THREAD, ALLOCATORS = "rivals", "seed_rivals", "one_thread", "allocators"


def of_run(collected: dict[str, Any]) -> str | None:
    """The name of the page, and of the file behind its date; None for a run along none."""
    rows = [row for row in collected["rows"] if row["status"] == "ok"]
    if any(row["runtime"] in OUTSIDE for row in rows):
        return SEED_RIVALS if collected["suite"] == SEED else RIVALS
    # Rows whose headline is memory have each allocator in every run.
    if not all(row["recommended"] for row in rows
               if catalog.headline(row["workload"], row["params"]).figure not in MEMORY):
        return ALLOCATORS
    free = [row for row in rows if _chooses_threads(row["workload"])]
    if free and collected["machine"]["cores"] > 1 and all(row["threads"] == 1 for row in free):
        return ONE_THREAD
    return None


def with_free_threads(cases: list[CaseResult]) -> list[CaseResult]:
    """Without those of workloads that fix their threads: they are the same in every run."""
    return [case for case in cases if _chooses_threads(case.workload)]


def is_scheduled(case: CaseResult) -> bool:
    """Whether a runtime takes part. The others are there to be subtracted, and have no headline."""
    return case.headline.figure is not None


def _chooses_threads(workload: str) -> bool:
    return catalog.all_workloads()[workload].THREADS is None


def allocator_table(cases: list[CaseResult]) -> str:
    """Each runtime in the dress that is fastest with an allocator, over Coflux with its recommended one."""
    names = list(dict.fromkeys(row["malloc"] for case in cases for row in _with_choice(case)))
    lines = ["| case | runtime | " + " | ".join(names) + " |", "| --- | --- |" + " ---: |" * len(names)]
    for case in cases:
        rows = _with_choice(case)
        for runtime in sorted({row["runtime"] for row in rows}, key=lambda each: (each != COFLUX, each)):
            cells = [_cell(case, [row for row in rows if (row["runtime"], row["malloc"]) == (runtime, name)]) for name in names]
            lines.append(f"| {case.workload} {case.short_label} | {runtime} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def each_with_its_best(cases: list[CaseResult]) -> str | None:
    """Where Coflux stands if each runtime has its best allocator and its best dress.

    None where there is no rival.
    """
    ratios = [(case.workload, _of_the_best(case)) for case in cases]
    found = standing.counts([list(of.values()) for _, of in ratios])
    if found is None:
        return None
    lost, led, tied = found
    worst: dict[str, tuple[float, str]] = {}
    for workload, of in ratios:
        for name, each in of.items():
            if each.lost:
                worst[workload] = min(worst.get(workload, (1.0, "")), (each.value, name))
    told = ", ".join(f"{workload} ({name} {factor(value)})"
                     for workload, (value, name) in sorted(worst.items(), key=lambda item: item[1]))
    return ("Each runtime with the allocator and in the dress that suit it best, where it has a choice: a contender is "
            f"faster in {lost} of {lost + led + tied} cases, Coflux is the fastest in {led}, and {tied} are undecided."
            + (f" The case of each workload in which Coflux is furthest behind: {told}." if told else ""))


def _of_the_best(case: CaseResult) -> dict[str, Ratio]:
    """Each rival's fastest row over Coflux's."""
    best: dict[str, ResultRow] = {}
    for row in case.every:
        if not RUNTIMES[row["runtime"]].floor and row["status"] == "ok":
            known = best.get(row["runtime"])
            best[row["runtime"]] = row if known is None or row["median"] < known["median"] else known
    own = best.pop(COFLUX, None)
    if not case.is_judged(TIME):
        return {}
    return {name: ratio for name, row in best.items() if (ratio := paired(row, own))}


def _with_choice(case: CaseResult) -> list[ResultRow]:
    """The rows of runtimes that were measured with more than one. The floor has none of them in its way."""
    rows = [row for row in case.every if row["status"] == "ok" and not RUNTIMES[row["runtime"]].floor]
    return [row for row in rows if len({each["malloc"] for each in rows if each["runtime"] == row["runtime"]}) > 1]


def _cell(case: CaseResult, rows: list[ResultRow]) -> str:
    if not rows:
        return ""
    row = min(rows, key=lambda each: each["median"])
    ratio = None if row["runtime"] == COFLUX and row["recommended"] else paired(row, case.baseline)
    text = tables.figure(row) + (f" ({ratio.text()})" if ratio else "") + ("; recommended" if row["recommended"] else "")
    return f"**{text}**" if ratio and ratio.shown and ratio.value < 1 else text
