"""Robust figures of few samples, and what may be claimed of them. Nothing here assumes the shape of a distribution."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import comb, sqrt
from statistics import NormalDist, median

# What an interval shall cover, and 1 minus the level of the tests.
CONFIDENCE = 0.95
LEVEL = round(1 - CONFIDENCE, 12)
# Up to this many samples of two runs together the rank test counts all their orders; beyond it takes the normal
# distribution for their number.
EXACT_UP_TO = 50


@dataclass(frozen=True)
class Interval:
    """Two order statistics, and how often an interval made like this holds the true median."""

    low: float
    high: float
    coverage: float


@dataclass(frozen=True)
class Summary:
    """Median, median absolute deviation, and the interval of the median."""

    median: float
    mad: float
    # None for a single sample, which says nothing about its spread.
    interval: Interval | None


@cache
def tail(n: int, k: int) -> float:
    """The probability that of n samples at most k lie on one given side of the true median."""
    return sum(comb(n, i) for i in range(k + 1)) / 2**n


@cache
def rank(n: int) -> tuple[int, float]:
    """How many samples to leave out at each end, and the coverage of the rest: the narrowest that reaches CONFIDENCE.

    Fewer than six samples do not reach it; then nothing is left out, and the coverage is what it is: 93.75 % of five.
    """
    left_out = 0
    while 2 * (left_out + 1) < n and 1 - 2 * tail(n, left_out + 1) >= CONFIDENCE:
        left_out += 1
    return left_out, 1 - 2 * tail(n, left_out)


def interval(samples: Sequence[float]) -> Interval | None:
    """The interval of the median by order statistics. It holds for any continuous distribution."""
    if len(samples) < 2:
        return None
    left_out, coverage = rank(len(samples))
    ordered = sorted(samples)
    return Interval(ordered[left_out], ordered[-1 - left_out], coverage)


def summarize(samples: Sequence[float]) -> Summary:
    """The summary of at least one sample."""
    if not samples:
        raise ValueError("no samples")
    middle = median(samples)
    return Summary(float(middle), float(median(abs(each - middle) for each in samples)), interval(samples))


def sign_test(ratios: Sequence[float]) -> float:
    """The two-sided p of "the median of the ratios is 1", by the signs alone: how far off a round is has no say.

    It is the test that the interval is made of: p <= 1 - CONFIDENCE exactly where the interval leaves 1 out. A ratio of
    just 1 speaks for neither side.
    """
    n = len(ratios)
    majority = max(sum(ratio > 1 for ratio in ratios), sum(ratio < 1 for ratio in ratios))
    return min(1.0, 2 * tail(n, n - majority)) if n else 1.0


def can_decide(n: int) -> bool:
    """Whether any outcome of n rounds is beyond the level of the test."""
    return 2 * tail(n, 0) <= 1 - CONFIDENCE


def rank_test(over: Sequence[float], under: Sequence[float]) -> float:
    """The two-sided p of "both are drawn from the same distribution" by Mann and Whitney, of samples that share no round.

    Equal samples share the middle of their ranks, and the distribution is that of the ranks that there are.
    """
    if not over or not under:
        return 1.0
    ranks = _doubled_ranks([*over, *under])
    n, total = len(over), len(over) + len(under)
    # By doubled ranks, so that all are whole numbers.
    off = abs(sum(ranks[:n]) - n * (total + 1))
    if total > EXACT_UP_TO:
        return _normal_p(ranks, n, off)
    sums = _sums(tuple(sorted(ranks)), n)
    return sum(count for value, count in sums.items() if abs(value - n * (total + 1)) >= off) / comb(total, n)


def _doubled_ranks(samples: list[float]) -> list[int]:
    """Twice the place of each sample in their order, counted from 1."""
    ordered = sorted(samples)
    return [bisect_left(ordered, each) + bisect_right(ordered, each) + 1 for each in samples]


@lru_cache(maxsize=256)
def _sums(ranks: tuple[int, ...], n: int) -> dict[int, int]:
    """In how many ways n of the ranks have which sum."""
    ways: list[dict[int, int]] = [{0: 1}, *({} for _ in range(n))]
    for rank in ranks:
        for taken in range(n, 0, -1):
            for value, count in ways[taken - 1].items():
                ways[taken][value + rank] = ways[taken].get(value + rank, 0) + count
    return ways[n]


def _normal_p(ranks: list[int], n: int, off: int) -> float:
    """The same by the normal distribution, with the variance that the ranks have."""
    total = len(ranks)
    spread = sum((rank - (total + 1)) ** 2 for rank in ranks)
    variance = n * (total - n) * spread / (total * (total - 1))
    # Half a step of the sum of ranks, which is one of the doubled.
    return 1.0 if not variance else min(1.0, 2 * (1 - NormalDist().cdf(max(0, off - 1) / sqrt(variance))))


def can_decide_between(n: int, m: int) -> bool:
    """Whether any order of n and m samples is beyond the level of the rank test."""
    return 2 / comb(n + m, n) <= LEVEL


def factor_between(over: Sequence[float], under: Sequence[float]) -> tuple[float, Interval | None]:
    """By what factor samples are above others that share no round with them: the median of all ratios of two, after
    Hodges and Lehmann, and the interval of those factors that the rank test does not refuse.

    It is of order statistics of the ratios, and is exact where the two distributions differ by a factor alone.
    """
    ratios = sorted(above / below for above in over for below in under)
    if len(over) == 1 or len(under) == 1:
        return float(median(ratios)), None
    left_out, coverage = _left_out(len(over), len(under))
    return float(median(ratios)), Interval(ratios[left_out], ratios[-1 - left_out], coverage)


@cache
def _left_out(n: int, m: int) -> tuple[int, float]:
    """How many of the n * m ratios to leave out at each end, and the coverage of the rest."""
    if n + m > EXACT_UP_TO:
        half = -NormalDist().inv_cdf(LEVEL / 2) * sqrt(n * m * (n + m + 1) / 12)
        return max(0, int(n * m / 2 - half)), CONFIDENCE
    sums, least = _sums(tuple(range(1, n + m + 1)), n), n * (n + 1) // 2
    ways, beyond, left_out = comb(n + m, n), sums[least], 0
    while 2 * (beyond + sums[least + left_out + 1]) <= LEVEL * ways:
        left_out += 1
        beyond += sums[least + left_out]
    return left_out, 1 - 2 * beyond / ways


def holm(ps: Sequence[float]) -> list[bool]:
    """The tests, of many, that find a difference, such that all together find one that is none with a probability of
    LEVEL at most."""
    survives = [False] * len(ps)
    for place, index in enumerate(sorted(range(len(ps)), key=lambda index: ps[index])):
        if ps[index] > LEVEL / (len(ps) - place):
            break
        survives[index] = True
    return survives
