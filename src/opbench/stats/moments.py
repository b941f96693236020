"""What a machine does to identical code from moment to moment, while a run goes on.

A case is measured within some seconds, and all its worker starts see the same machine: how warm
it is, what its neighbours do. Minutes later it may be some per cent faster or slower, and starts
taken in one moment cannot know. A few cases that are looked at again and again can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

#: Degrees of freedom before it is called known: two cases looked at four times, say.
ENOUGH = 6
#: One visit while a neighbour was busy must not make a whole run useless.
MOST = 0.1
#: Standard deviations on either side that hold 95 %.
REACH = 1.96

#: The blocks of one visit to a case.
Visit = Sequence[float]


def wander(cases: Sequence[Sequence[Visit]]) -> float | None:
    """Relative standard deviation between visits to the same running code; None if too few.

    Each visit is halved, every other block: what both halves show in common is the moment, what
    they show apart is the noise of blocks.
    """
    products, freedom = 0.0, 0
    for visits in cases:
        halves = [logs for visit in visits if (logs := _halves(visit)) is not None]
        if len(halves) < 2:
            continue
        middles = median(a for a, _ in halves), median(b for _, b in halves)
        for a, b in halves:
            product = (a - middles[0]) * (b - middles[1])
            products += max(-(MOST**2), min(MOST**2, product))
        freedom += len(halves) - 1
    if freedom < ENOUGH:
        return None
    return math.sqrt(max(0.0, products / freedom))


def _halves(visit: Visit) -> tuple[float, float] | None:
    """Logarithms of the medians of every other block; None where there is nothing to take them of.

    An empty statement, its loop taken off, may come out at or below zero.
    """
    if len(visit) < 2:
        return None
    a, b = median(visit[::2]), median(visit[1::2])
    return (math.log(a), math.log(b)) if a > 0 and b > 0 else None


def widened(value: float, low: float, high: float, wandering: float) -> tuple[float, float]:
    """The interval, when the moment it was measured in was one of many."""
    reach = REACH * wandering * abs(value)
    return value - math.hypot(value - low, reach), value + math.hypot(high - value, reach)
