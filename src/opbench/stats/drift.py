"""How much a machine's speed drifts during a run, seen in code that is measured again and again.

A case is measured within some seconds, and all its worker starts see the same machine: how warm
it is, what its neighbours do. Minutes later it may be a few per cent faster or slower, and samples
taken within seconds cannot show it. A few control cases, revisited throughout the run, can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from opbench.stats.autocorrelation import mean_correlation, unbiased
from opbench.stats.distributions import t_quantile
from opbench.stats.prior import Prior

#: Degrees of freedom before the drift counts as known: two cases visited four times, say.
ENOUGH = 6
#: One visit while a neighbour was busy must not make a whole run useless.
MOST = 0.15
#: More correlation from visit to visit than this is not believed: no run would be long enough. Nor
#: are visits worth less than so many degrees of freedom: at one, a drift of 2 % would be ±25 %, and
#: intervals of simulated runs held no more often.
MOST_CORRELATED, LEAST_FREEDOM = 0.983, 2.0
#: And no more than `1 - FEW / visits`. What corrects the correlation of few visits overshoots: four
#: that rose by chance seemed to correlate perfectly, and 4 % of scatter became ±120 %. In simulated
#: runs of 5 to 50 visits, intervals hold as often with this as without, and the widest tenth of
#: them is half as wide or less.
FEW = 3

#: The blocks of one visit to a case.
Visit = Sequence[float]


def drift_between(cases: Sequence[Sequence[Visit]]) -> Prior | None:
    """Relative standard deviation between visits to the same running code, and its degrees of
    freedom; None if too few.

    Each visit is halved, every other block: what both halves show in common is drift, what they
    show apart is the noise of blocks.

    A machine that is slow at one visit is often slow at the next. Then the visits of a run lie
    nearer to each other than to other times, and there are fewer independent ones than it seems:
    both are made good by how much one visit predicts the next.
    """
    squares, lagged, freedom, longest = 0.0, 0.0, 0, 0
    for visits in cases:
        halves = [logs for visit in visits if (logs := _halves(visit)) is not None]
        if len(halves) < 2:
            continue
        middles = median(a for a, _ in halves), median(b for _, b in halves)
        rests = [(a - middles[0], b - middles[1]) for a, b in halves]
        own = sum(_cut(a * b) for a, b in rests)
        squares += own
        # Either half with the other of the next visit, for they share no block. Where blocks
        # scatter more than the machine drifts, they may seem to correlate more than perfectly.
        products = [
            _cut((a * after_b + b * after_a) / 2) for (a, b), (after_a, after_b) in pairwise(rests)
        ]
        lagged += min(sum(products), max(0.0, own))
        freedom += len(halves) - 1
        longest = max(longest, len(halves))
    if freedom < ENOUGH:
        return None
    most = min(MOST_CORRELATED, 1 - FEW / longest)
    correlation = unbiased(lagged / squares if squares > 0 else 0.0, longest, most)
    variance = max(0.0, squares / freedom) / (1 - mean_correlation(correlation, longest))
    # All cases are on the same machine: the visits of one know no less than those of all.
    effective = (longest - 1) * (1 - correlation**2) / (1 + correlation**2)
    return Prior(math.sqrt(variance), max(LEAST_FREEDOM, effective))


def _cut(product: float) -> float:
    return max(-(MOST**2), min(MOST**2, product))


def _halves(visit: Visit) -> tuple[float, float] | None:
    """Logarithms of the medians of every other block; None where a median is not positive (an
    empty statement, its loop subtracted) or a half is empty."""
    if len(visit) < 2:
        return None
    a, b = median(visit[::2]), median(visit[1::2])
    return (math.log(a), math.log(b)) if a > 0 and b > 0 else None


def widen(value: float, low: float, high: float, drift: Prior) -> tuple[float, float]:
    """The interval for any time during the run, not just the seconds it was measured in."""
    reach = t_quantile(drift.freedom) * drift.sd * abs(value)
    return value - math.hypot(value - low, reach), value + math.hypot(high - value, reach)
