"""What a machine does to identical code from moment to moment, while a run goes on.

A case is measured within some seconds, and all its worker starts see the same machine: how warm
it is, what its neighbours do. Minutes later it may be some per cent faster or slower, and starts
taken in one moment cannot know. A few cases that are looked at again and again can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean, median

from opbench.stats.estimate import median_error

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

    What blocks scatter within a visit is taken off: it says nothing about the moment.
    """
    squares, freedom = 0.0, 0
    for visits in cases:
        logs = [math.log(value) for visit in visits if (value := median(visit)) > 0]
        if len(logs) < 2:
            continue
        middle = median(logs)
        within = mean(_square_error(visit) for visit in visits if median(visit) > 0)
        for log in logs:
            squares += min(MOST**2, (log - middle) ** 2) - within
        freedom += len(logs) - 1
    if freedom < ENOUGH:
        return None
    return math.sqrt(max(0.0, squares / freedom))


def _square_error(visit: Visit) -> float:
    return (median_error(visit) / median(visit)) ** 2


def widened(value: float, low: float, high: float, wandering: float) -> tuple[float, float]:
    """The interval, when the moment it was measured in was one of many."""
    reach = REACH * wandering * abs(value)
    return value - math.hypot(value - low, reach), value + math.hypot(high - value, reach)
