"""Noise in which one value predicts the next: what a variance from such values must be made good.

A machine that is warm at one moment is warm at the next. Values of a short stretch then lie nearer
to each other than to values of other times, and are fewer independent ones than it seems. All of
this is for noise whose correlation falls off by the same factor with every step.
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
