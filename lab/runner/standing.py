"""Where Coflux stands in a run, in one sentence."""

from __future__ import annotations

from runner.runtimes import COFLUX, RUNTIMES
from runner.verdicts import CaseResult, Ratio


def sentence(cases: list[CaseResult]) -> str | None:
    """Of the cases in which a contender has a figure beside Coflux's: how many it loses, ties and leads. None where there is none.

    A case is lost where a contender was faster, led where each was slower, and else tied. The floor is no contender.
    """
    lost = led = tied = 0
    for case in cases:
        ratios = _rivals(case)
        if case.losses:
            lost += 1
        elif ratios and all(each.shown for each in ratios):
            led += 1
        elif ratios:
            tied += 1
    if not lost + led + tied:
        return None
    return (f"Of {lost + led + tied} cases that Coflux shares with a contender, a contender is faster in {lost}, "
            f"Coflux is the fastest in {led}, and {tied} are undecided.")


def _rivals(case: CaseResult) -> list[Ratio]:
    found = (case.ratio_to_baseline(name) for name in case.rows if name != COFLUX and not RUNTIMES[name].floor)
    return [each for each in found if each is not None]
