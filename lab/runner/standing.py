"""The place of Coflux in a run, in one sentence."""

from __future__ import annotations

from runner.verdicts import CPU, TIME, CaseResult, Ratio


def sentence(cases: list[CaseResult]) -> str | None:
    """How many cases in which a contender has a figure it loses, ties and leads. None where there is no such case.

    A case is lost where a contender was faster, led where each was slower, and else tied. The floor is no contender.
    """
    found = _counts(cases, TIME)
    if found is None:
        return None
    lost, led, tied = found
    return (f"A contender is faster in {lost} of the {lost + led + tied} cases that Coflux shares with one, "
            f"Coflux is the fastest in {led}, and {tied} are undecided.")


def cpu_sentence(cases: list[CaseResult]) -> str | None:
    """The same of CPU."""
    found = _counts(cases, CPU)
    if found is None:
        return None
    lost, led, tied = found
    return (f"By CPU a contender spends less in {lost} of {lost + led + tied}, Coflux spends least in {led}, "
            f"and {tied} are undecided.")


def _counts(cases: list[CaseResult], figure: str) -> tuple[int, int, int] | None:
    return counts([[each.ratio for each in case.rivals(figure).values()] for case in cases])


def counts(of_cases: list[list[Ratio]]) -> tuple[int, int, int] | None:
    """How many are lost, led and tied, by the contenders' ratios of each. None where there are none."""
    lost = led = tied = 0
    for ratios in of_cases:
        if any(each.less for each in ratios):
            lost += 1
        elif ratios and all(each.shown for each in ratios):
            led += 1
        elif ratios:
            tied += 1
    return (lost, led, tied) if lost + led + tied else None
