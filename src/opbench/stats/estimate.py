"""One number for a case, and how far it can be trusted.

The value is the mean, over worker starts, of the median of their children, and a child is the
median of its blocks. On a machine that others share, a whole child now and then takes half as long
again, and so does the other side's that was measured turn by turn with it, although no page was
fetched, nobody waited and the core seemed free. The mean of four children would move by a tenth.

The interval is a t interval over the starts: with n of them, n - 1 degrees of freedom. Where the
cases measured before have shown what starts usually scatter here, their variance is averaged in
(`prior`), with the degrees of freedom it deserves; no figure of another machine is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from opbench.stats.distributions import t_quantile
from opbench.stats.groups import two_groups
from opbench.stats.prior import LEAST_SD, NOTHING, UNKNOWN, Prior

#: An interval calls itself precise with no fewer worker starts: three or four agree by luck too
#: often.
LEAST_STARTS = 5


@dataclass(frozen=True)
class Estimate:
    value: float
    low: float
    high: float
    #: Worker starts the interval rests on.
    starts: int
    #: Standard error of one start's value that comes from its own blocks, relative.
    within: float
    #: Standard deviation between starts as used for the interval, relative.
    between: float
    #: The same as these starts alone show it.
    seen: float = 0.0
    #: The values of the fast and of the slow starts, where they fall into two groups.
    groups: tuple[list[float], list[float]] | None = None

    @property
    def half_width(self) -> float:
        if not self.value:
            return 0.0 if self.low == self.high else math.inf
        return (self.high - self.low) / 2 / abs(self.value)


#: (worker start, child session, value)
Placed = tuple[int, int, float]


def estimate(samples: Iterable[Placed], *, prior: Prior = NOTHING) -> Estimate | None:
    """The estimate for one case, or None without samples.

    Works on relative deviations, so that nanoseconds and seconds are treated alike. Values at or
    below zero (an empty statement after the loop was subtracted) get an absolute interval.
    `prior` is what earlier cases showed of the variance between starts.
    """
    sessions: dict[tuple[int, int], list[float]] = {}
    for start, session, value in samples:
        sessions.setdefault((start, session), []).append(value)
    if not sessions:
        return None
    by_start: dict[int, list[float]] = {}
    errors: list[float] = []
    for (start, _session), values in sessions.items():
        by_start.setdefault(start, []).append(median(values))
        errors.append(median_error(values))
    starts = [median(values) for values in by_start.values()]
    value = sum(starts) / len(starts)
    scale = abs(value) or max((abs(start) for start in starts), default=0.0) or 1.0
    children = len(sessions) / len(starts)
    within = math.sqrt(sum(error**2 for error in errors) / len(errors) / children) / scale
    freedom = len(starts) - 1
    seen = sum((start - value) ** 2 for start in starts) / freedom / scale**2 if freedom else 0.0
    variance, known = prior.moderated(seen, freedom)
    # Starts that agree better than their own blocks let them do so by luck.
    variance = max(variance, within**2, LEAST_SD**2)
    reach = t_quantile(known) * math.sqrt(variance / len(starts)) * scale
    if sum(map(len, sessions.values())) == 1:
        reach = scale  # of the noise of a single sample nothing is known, so nothing is claimed
    if not any(any(values) for values in sessions.values()):
        reach = 0.0  # the device had nothing to do, each time
    return Estimate(
        value,
        value - reach,
        value + reach,
        len(starts),
        within,
        math.sqrt(variance),
        math.sqrt(seen),
        two_groups(starts),
    )


def is_precise(found: Estimate, precision: float, prior: Prior = NOTHING) -> bool:
    """Whether sampling may stop: the interval is within ±`precision`, and not by luck.

    To look again and again until few starts happen to agree would make intervals that hold less
    often than they say. So a first case, with nothing learnt from others, stops as if two
    starts with the scatter of `UNKNOWN` had been seen as well: then nine starts that differ by
    1.2 % reach ±2 %, and of those that differ by 4 %, 94 % of the intervals hold.
    """
    if found.starts < LEAST_STARTS or found.half_width > precision:
        return False
    guard = prior if prior.freedom > 0 else UNKNOWN
    variance, freedom = guard.moderated(found.seen**2, found.starts - 1)
    return t_quantile(freedom) * math.sqrt(variance / found.starts) <= precision


def starts_for(
    precision: float, sd: float, freedom: float = 0.0, *, least: int = LEAST_STARTS, most: int = 24
) -> int:
    """How many worker starts give an interval of ±`precision` where starts scatter by `sd`, a
    figure that is worth `freedom` starts."""
    for starts in range(least, most):
        if t_quantile(freedom + starts - 1) * sd / math.sqrt(starts) <= precision:
            return starts
    return most


def median_error(values: Sequence[float]) -> float:
    """Standard error of the median, from the median absolute deviation (robust to bursts)."""
    if len(values) < 2:
        return 0.0
    middle = median(values)
    deviation = 1.4826 * median(abs(value - middle) for value in values)
    # The median of normal data scatters 1.2533 times as much as its mean.
    return 1.2533 * deviation / math.sqrt(len(values))
