"""What the checkers share: answers are decimal strings of unsigned 64-bit numbers."""

from __future__ import annotations

WORD = 1 << 64


def sum_below(count: int) -> int:
    """0 + 1 + ... + (count - 1), before it is reduced to a word."""
    return count * (count - 1) // 2


def ordered_sum_to(count: int) -> int:
    """1 * 1 + 2 * 2 + ... + count * count: the k-th number received counts k times, so any other order gives less."""
    return count * (count + 1) * (2 * count + 1) // 6


def cache_of(calculations: int) -> int:
    """The ten counters of a cache, which begin at 10 000 and have one more of each calculation; counter i counts i + 1
    times."""
    return sum(range(1, 11)) * (10_000 + calculations)


def word(value: int) -> str:
    """The answer that a runtime prints which adds up in unsigned 64-bit arithmetic."""
    return str(value % WORD)


def mismatch(answer: str, expected: str) -> str | None:
    """None where the answer is right, otherwise the sentence for the row."""
    return None if answer == expected else f"the answer is {answer}, it must be {expected}"
