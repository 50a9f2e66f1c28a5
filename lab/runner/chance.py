"""How much of many verdicts is chance: what a reader must know beside them."""

from __future__ import annotations

from collections.abc import Iterator

from runner import stats
from runner.runtimes import COFLUX, RUNTIMES
from runner.verdicts import CPU, TIME, CaseResult, Ratio, paired

PERCENT = f"{100 * stats.LEVEL:.0f} %"


def of_run(cases: list[CaseResult]) -> str | None:
    """How many verdicts a run makes against Coflux, how many of them find a difference, and how many would by chance.

    None where there is no verdict.
    """
    ratios = [each for case in cases for each in _verdicts(case) if not each.too_few]
    if not ratios:
        return None
    # A test of few rounds does not use up its level: at n = 9 it is 3.9 %.
    expected = sum(1 - stats.rank(each.rounds)[1] for each in ratios)
    return (f"{len(ratios)} verdicts at {PERCENT} (time, CPU and what else was measured, against Coflux): "
            f"{sum(each.differs for each in ratios)} find a difference. If there were none anywhere, {expected:.1f} would be found "
            "by chance, half of them as losses. Each verdict stands for itself: none is corrected for their number.")


def between_runs(judged: int, found: int, held: int, exact: bool) -> str:
    """The same of two runs, whose rows are judged by ranks."""
    how = "exact" if exact else f"exact up to {stats.EXACT_UP_TO} repetitions of both runs together, beyond by the normal distribution"
    return (f"Rows are judged by the rank test of Mann and Whitney ({how}), as the repetitions of two runs are no pairs. "
            f"{judged} comparisons at {PERCENT}: {found} find a difference. If there were none anywhere, up to {stats.LEVEL * judged:.1f} would "
            f"be found by chance. Holm's correction leaves {held}, marked \"holds\": the probability that any of those is chance is "
            f"{PERCENT} at most.")


def _verdicts(case: CaseResult) -> Iterator[Ratio]:
    for row in case.every:
        if case.baseline is not None and row["runtime"] != COFLUX and not RUNTIMES[row["runtime"]].floor:
            own = {figure: case.speaking(figure).get(COFLUX) for figure in (TIME, CPU)}
            time = paired(row, own[TIME]) if case.is_judged(TIME) else None
            yield from filter(None, (time, paired(row, own[CPU], "cpu_samples")))
    yield from (each.ratio for each in case.figure_ratios)
