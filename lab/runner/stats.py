"""Robust figures of few samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

CONFIDENCE = 0.95
RESAMPLES = 10_000
# Fixed, so that the same samples always have the same interval.
SEED = 20_260_101


@dataclass(frozen=True)
class Summary:
    """Median, median absolute deviation, and a bootstrap interval of the median."""

    median: float
    mad: float
    # None for a single sample, which says nothing about its spread.
    low: float | None
    high: float | None


def summarize(samples: Sequence[float]) -> Summary:
    """The summary of at least one sample."""
    values = numpy.asarray(samples, dtype=float)
    if values.size == 0:
        raise ValueError("no samples")
    median = float(numpy.median(values))
    mad = float(numpy.median(numpy.abs(values - median)))
    if values.size == 1:
        return Summary(median, mad, None, None)
    generator = numpy.random.default_rng(SEED)
    medians = numpy.median(generator.choice(values, size=(RESAMPLES, values.size), replace=True), axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = numpy.quantile(medians, [tail, 1 - tail])
    return Summary(median, mad, float(low), float(high))
