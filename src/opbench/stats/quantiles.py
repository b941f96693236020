"""What a list of samples amounts to: quantiles, mean, and the interval that came with it.

Each sample is the mean time per call over one block of calls, so a quantile is one of blocks: the
tail within a block of many short calls is averaged away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Quantiles:
    p50: float
    p90: float
    p99: float
    mean: float
    n: int


def quantiles(values: Sequence[float]) -> Quantiles | None:
    """None for no values at all."""
    if not values:
        return None
    ordered = sorted(values)
    return Quantiles(
        p50=quantile(ordered, 0.5),
        p90=quantile(ordered, 0.9),
        p99=quantile(ordered, 0.99),
        mean=math.fsum(ordered) / len(ordered),
        n=len(ordered),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """Between the two values it falls between, in proportion."""
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
