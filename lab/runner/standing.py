"""The place of Coflux in a run, in sentences."""

from __future__ import annotations

from runner.state import PLAIN
from runner.verdicts import CPU, CaseResult, Ratio


def sentence(cases: list[CaseResult]) -> str | None:
    """How many cases it loses, ties and leads, each by its headline figure. None where no contender has a figure.

    A case is lost where a contender is decidedly ahead, led where each is decidedly behind, and else undecided. The floor
    is no contender, and a case in which no runtime takes part has no verdict.
    """
    best, plain = (counts(_by_headline(cases, dress)) for dress in (None, PLAIN))
    if best is None:
        return None
    said = f"By the headline figure of each, best dress against best dress, {_told(best)}."
    return said if plain is None else f"{said} Plain against plain, {_told(plain)}."


def cpu_sentence(cases: list[CaseResult]) -> str | None:
    """The same of CPU."""
    best = counts([[each.ratio for each in case.rivals(CPU).values()] for case in cases])
    return None if best is None else f"By CPU, best against best, {_told(best)}."


def _by_headline(cases: list[CaseResult], dress: str | None) -> list[list[Ratio]]:
    return [[each.ratio for each in case.rivals(case.headline.figure, dress).values()]
            for case in cases if case.headline.figure is not None]


def _told(found: tuple[int, int, int]) -> str:
    lost, led, tied = found
    return (f"a contender is ahead in {lost} of the {lost + led + tied} cases that Coflux shares with one, "
            f"Coflux is first in {led}, and {tied} are undecided")


def counts(of_cases: list[list[Ratio]]) -> tuple[int, int, int] | None:
    """How many are lost, led and tied, by the contenders' ratios of each. None where there are none."""
    lost = led = tied = 0
    for ratios in of_cases:
        if any(each.lost for each in ratios):
            lost += 1
        elif ratios and all(each.differs for each in ratios):
            led += 1
        elif ratios:
            tied += 1
    return (lost, led, tied) if lost + led + tied else None
