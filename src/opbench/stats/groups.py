"""Do the worker starts of a case fall into two groups, most of them fast and some slow?

A start may get a slow arrangement (a page at a bad address, another kernel of a library) that
costs a third. Then the mean of five starts is the typical start's time in none of them: the
interval holds it, and the case says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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
