"""Robust figures of few samples, and what may be claimed of them. Nothing here assumes the shape of a distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb
from statistics import median

# What an interval shall cover, and 1 minus the level of the test.
CONFIDENCE = 0.95


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
