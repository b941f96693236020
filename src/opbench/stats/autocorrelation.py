"""Noise in which one value predicts the next, and by how much it makes a variance too small.

A machine that is warm at one moment is warm at the next. Values of a short stretch then lie closer
to each other than to values of other times, and count for fewer than they are. All of this is for
noise whose correlation falls off by the same factor with every step.
"""

from __future__ import annotations


def unbiased(seen: float, count: float, most: float) -> float:
    """Correlation of one value with the next, where `count` values around their own mean show
    `seen`: that is too little by (1 + 3 times itself) / count (Kendall 1954). From zero to `most`.
    """
    found = (count * seen + 1) / (count - 3) if count > 3 else seen
    return max(0.0, min(most, found))


def mean_correlation(correlation: float, count: int) -> float:
    """Of any two of `count` values: by so much their variance around their own mean falls short."""
    if count < 2:
        return 0.0
    pairs = sum((count - lag) * correlation**lag for lag in range(1, count))
    return 2 * pairs / (count * (count - 1))
