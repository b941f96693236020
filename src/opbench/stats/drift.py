"""How much a machine's speed drifts during a run, seen in code that is measured again and again.

A case is measured within some seconds, and all its worker starts see the same machine: how warm
it is, what its neighbours do. Minutes later it may be some per cent faster or slower, and samples
taken within seconds cannot show it. A few control cases, revisited throughout the run, can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

#: Degrees of freedom before the drift counts as known: two cases visited four times, say.
ENOUGH = 6
#: One visit while a neighbour was busy must not make a whole run useless.
MOST = 0.1
#: Standard deviations on either side that hold 95 %.
REACH = 1.96

#: The blocks of one visit to a case.
Visit = Sequence[float]


def drift_between(cases: Sequence[Sequence[Visit]]) -> float | None:
    """Relative standard deviation between visits to the same running code; None if too few.

    Each visit is halved, every other block: what both halves show in common is drift, what they
    show apart is the noise of blocks.
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
    """Logarithms of the medians of every other block; None where a median is not positive (an
    empty statement, its loop subtracted) or a half is empty."""
    if len(visit) < 2:
        return None
    a, b = median(visit[::2]), median(visit[1::2])
    return (math.log(a), math.log(b)) if a > 0 and b > 0 else None


def widen(value: float, low: float, high: float, drift: float) -> tuple[float, float]:
    """The interval for any time during the run, not just the seconds it was measured in."""
    reach = REACH * drift * abs(value)
    return value - math.hypot(value - low, reach), value + math.hypot(high - value, reach)
