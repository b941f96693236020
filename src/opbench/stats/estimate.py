"""One number for a case, and how far it can be trusted.

The value is the mean, over worker starts, of the medians of their children. The interval is a
t interval over the starts. With three starts a plain t interval is uselessly wide (4.3 standard
errors) and erratic, so the variance is *moderated*, as is usual where many small groups are
estimated (Smyth 2004): what these starts show is averaged with what starts are known to show, the
start-to-start standard deviation, weighted by how many starts each rests on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

#: Standard deviation between two worker starts of identical code, relative: address layout,
#: page placement, hash seed. Measured between fresh workers on small torch operators: 0.65 % within
#: one worker, 1.15 % between workers; see docs/statistics.md.
DEFAULT_START_SD = 0.012
#: How many observed starts that figure is worth against what a case shows by itself. Four is
#: enough that three lucky starts cannot claim certainty, and little enough that six decide.
START_SD_WEIGHT = 4


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

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2 / abs(self.value) if self.value else math.inf


#: (worker start, child session, value)
Placed = tuple[int, int, float]


def estimate(samples: Iterable[Placed], *, start_sd: float = DEFAULT_START_SD) -> Estimate | None:
    """The estimate for one case, or None without samples.

    Works on relative deviations, so that nanoseconds and seconds are treated alike. Values at or
    below zero (an empty statement after the loop was subtracted) get an absolute interval.
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
    starts = [sum(values) / len(values) for values in by_start.values()]
    value = sum(starts) / len(starts)
    scale = abs(value) or max((abs(start) for start in starts), default=0.0) or 1.0
    children = len(sessions) / len(starts)
    within = math.sqrt(sum(error**2 for error in errors) / len(errors) / children) / scale
    freedom = len(starts) - 1
    seen = sum((start - value) ** 2 for start in starts) / freedom / scale**2 if freedom else 0.0
    # What one start is expected to scatter: its layout, and the noise of its own blocks.
    expected = start_sd**2 + within**2
    variance = (START_SD_WEIGHT * expected + freedom * seen) / (START_SD_WEIGHT + freedom)
    reach = t_quantile(START_SD_WEIGHT + freedom) * math.sqrt(variance / len(starts)) * scale
    if sum(map(len, sessions.values())) == 1:
        reach = scale  # of the noise of a single sample nothing is known, so nothing is claimed
    return Estimate(
        value,
        value - reach,
        value + reach,
        len(starts),
        within,
        math.sqrt(variance),
        math.sqrt(seen),
    )


def starts_for(
    precision: float, *, start_sd: float = DEFAULT_START_SD, least: int = 3, most: int = 24
) -> int:
    """How many worker starts give an interval of ±`precision` when only starts scatter."""
    for starts in range(least, most):
        if t_quantile(START_SD_WEIGHT + starts - 1) * start_sd / math.sqrt(starts) <= precision:
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


def t_quantile(freedom: float, level: float = 0.95) -> float:
    """Two-sided Student quantile: 2.447 for six degrees of freedom at 95 %."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2))
