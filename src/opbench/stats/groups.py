"""Do the worker starts of a case, or the blocks of its starts, fall into two groups?

A start may get a slow arrangement (a page at a bad address, another kernel of a library) that
costs a third. Then the mean of five starts is the typical start's time in none of them: the
interval holds it, and the case says so. Blocks of one start may run at two speeds too (a thread
that is woken or not): then the median is the time of the more frequent kind, and of no use for
adding up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

#: Fewer starts have no groups to speak of.
LEAST_STARTS = 5
#: The gap between the groups, in standard deviations within them. Of five starts without groups,
#: one in fifty shows such a gap; of twelve, none.
GAP = 4.0
#: And relative: nearer groups are what starts usually do.
LEAST_APART = 0.1


def two_groups(starts: Sequence[float]) -> tuple[list[float], list[float]] | None:
    """The lower and the upper group of the values of starts; None where there is but one."""
    values = sorted(starts)
    if len(values) < LEAST_STARTS or values[0] <= 0:
        return None
    gap, at = max((values[i] - values[i - 1], i) for i in range(1, len(values)))
    groups = values[:at], values[at:]
    means = [sum(group) / len(group) for group in groups]
    squares = sum((v - m) ** 2 for group, m in zip(groups, means, strict=True) for v in group)
    inner = math.sqrt(squares / (len(values) - 2))
    apart = means[1] / means[0] - 1
    return groups if gap > GAP * inner and apart > LEAST_APART else None


#: Of the blocks, the less frequent kind is at least this share: fewer are bursts of noise.
LEAST_SHARE = 0.15
#: Share of the scatter that two levels explain. Halves of a normal distribution explain 64 % of
#: its scatter, those of an even one 75 %.
TWO_LEVELS = 0.85


def two_speeds(
    starts: Sequence[Sequence[float]], low: float, high: float
) -> tuple[float, float, float] | None:
    """The less frequent speed of the blocks of each start, where there are two and the mean of all
    blocks lies outside the interval from `low` to `high`: its share of the blocks, its time as a
    multiple of the other's, and the mean."""
    if not starts or any(min(blocks) <= 0 for blocks in starts):
        return None
    mean = sum(sum(blocks) / len(blocks) for blocks in starts) / len(starts)
    if low <= mean <= high:
        return None
    # Relative to their own start: that starts differ is another matter.
    logs = sorted(math.log(value / median(blocks)) for blocks in starts for value in blocks)
    count, total = len(logs), sum(logs)
    centre = total / count
    scatter = sum((log - centre) ** 2 for log in logs)
    best, at, below = 0.0, 0, 0.0
    for index in range(1, count):
        below += logs[index - 1]
        levels = below / index, (total - below) / (count - index)
        between = index * (count - index) / count * (levels[1] - levels[0]) ** 2
        if between > best:
            best, at = between, index
    if best <= TWO_LEVELS * scatter:
        return None
    lower, upper = sum(logs[:at]) / at, sum(logs[at:]) / (count - at)
    share = min(at, count - at) / count
    if share < LEAST_SHARE or math.exp(upper - lower) - 1 < LEAST_APART:
        return None
    less, other = (lower, upper) if at <= count - at else (upper, lower)
    return share, math.exp(less - other), mean
