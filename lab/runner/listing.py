"""--list: what there is to choose from."""

from __future__ import annotations

import textwrap
from pathlib import Path

from runner import allocators, catalog
from runner.catalog import SIZES, Params
from runner.runtimes import RUNTIMES
from runner.suites import MOST_THREADS, SEED, SUITES, plan

WIDTH = 120


def text(build: Path) -> str:
    """Suites, workloads with their cases, and runtimes with their state."""
    lines = ["suites"]
    for name, suite in SUITES.items():
        cases = len(plan(catalog.of_suites(), suite.sizes, MOST_THREADS, picks=suite.picks_cases))
        lines.append(f"  {name:<8}{suite.repetitions} repetitions of {' and '.join(suite.sizes)}, {cases} cases: {suite.purpose}")
    lines.append("\nworkloads")
    for name, workload in catalog.all_workloads().items():
        lines += textwrap.wrap(f"{workload.DESCRIPTION} An item is {workload.ITEM}.", WIDTH,
                               initial_indent=f"  {name}: ", subsequent_indent="    ")
        for size in SIZES:
            lines += _cases(size, workload.cases(size))
        if workload.SEED:
            lines += _cases(SEED, workload.SEED)
            if own := getattr(workload, "SEED_THREADS", ()):
                lines.append(f"{'':<11}with {' and '.join(map(str, own))} thread beside the run's")
    lines.append("\nruntimes")
    for name, runtime in RUNTIMES.items():
        state = runtime.unavailable(build) or "built"
        note = f" ({runtime.note})" if runtime.note else ""
        lines.append(f"  {name:<10}{state}, {allocators.recommended(name)}{note}")
    lines.append("\nallocators")
    for name in allocators.ALLOCATORS:
        lines.append(f"  {name:<10}{allocators.unavailable(name) or 'there'}")
    return "\n".join(lines) + "\n"


def _cases(size: str, cases: list[Params]) -> list[str]:
    return textwrap.wrap("; ".join(catalog.label(params) for params in cases), WIDTH, initial_indent=f"    {size:<6} ",
                         subsequent_indent=" " * 11)
