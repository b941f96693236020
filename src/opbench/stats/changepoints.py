"""Where in a history did the level change? A pure function of values in time order.

A single high point is a bad night, a new level that holds is a change. Three steps tell them
apart. First the *noise* of one point is estimated: successive differences do not see a level, so
they measure noise however often the level changed; where points are few, the intervals that came
with them stand in, weighted as in `estimate`. Then blips, points that stick out from what lies on
either side, are drawn in to the edge of the noise. What is left goes through PELT (Killick 2012,
from `ruptures`): the best segmentation of the logs, where each further change must pay a penalty
in units of that noise. Last, each change must stand a t test between the levels before and after
it, in noise whose neighbours may resemble each other, corrected for the number of places it could
have been; the weakest goes first.

`ruptures` rather than `apache-otava`, whose e-divisive test is made for this task: otava 0.8 pins
numpy to 2.2.0 and scipy below 1.17, which would decide the versions of the frameworks under test,
brings BigQuery and Slack clients along, and knows nothing of the intervals of its points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, median_low
from typing import TYPE_CHECKING

from opbench.stats.distributions import t_tail

if TYPE_CHECKING:
    import numpy as np

#: A level must hold this long to count: fewer points are a blip. So six points are the fewest in
#: which a change can be seen.
HOLD = 3
#: What a change must explain, in squared noise: `PENALTY * log(points)`. Larger than the 2 to 3 of
#: the books, because the noise is itself an estimate and its tails are heavier than normal.
PENALTY = 4.0
#: A change stays when the chance of seeing it in pure noise is below this. In noise that stays high
#: or low for days (correlation 0.8), whose extent thirty runs cannot tell, 5 % then show one.
ALARM = 0.01
#: How many differences the intervals of the points are worth against the differences themselves;
#: like `prior.MOST_WEIGHT`.
INTERVAL_WEIGHT = 4
#: Least noise assumed, relative: repeated counts of bytes or instructions have none at all, and a
#: change of one in a thousand of them is still found.
LEAST_NOISE = 1e-4
#: What may be between neighbours. More is not believed: the levels would mean nothing.
CORRELATIONS = [step / 10 for step in range(10)]
#: Half of a 95 % interval, in standard errors.
REACH = 1.96
#: Relative sizes beyond this are cut: their squares must still be numbers.
HUGE = 1e9
#: Points drawn in keep this many times the noise.
BLIP = 3.0


@dataclass(frozen=True)
class Point:
    value: float
    #: The 95 % interval, where there is one.
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class ChangePoint:
    #: Of the first point on the new level.
    index: int
    #: Median of the level before and of the level after, each up to its neighbouring change.
    before: float
    after: float
    #: 1 − the chance that pure noise shows such a change anywhere in the series.
    confidence: float

    @property
    def ratio(self) -> float | None:
        """1.05 reads as: takes 5 % longer since. None where the levels are not both positive."""
        return self.after / self.before if self.before > 0 and self.after > 0 else None


def change_points(points: Sequence[Point]) -> tuple[ChangePoint, ...]:
    """In time order. Points that are not finite are passed over, indices count them."""
    kept = [index for index, point in enumerate(points) if math.isfinite(point.value)]
    if len(kept) < 2 * HOLD:
        return ()
    found = [points[index] for index in kept]
    import numpy as np

    levels, errors = _scaled(found)
    noise = _noise(np.diff(levels), errors)
    smoothed = np.asarray(_without_blips(levels.tolist(), noise))
    edges, doubts = _tested(smoothed, _segments(smoothed / noise), noise)
    changes = []
    for at, doubt in enumerate(doubts, start=1):
        before = [point.value for point in found[edges[at - 1] : edges[at]]]
        after = [point.value for point in found[edges[at] : edges[at + 1]]]
        changes.append(
            ChangePoint(kept[edges[at]], median_low(before), median_low(after), 1 - doubt)
        )
    return tuple(changes)


def _scaled(points: Sequence[Point]) -> tuple[np.ndarray, list[float]]:
    """Values on a scale where equal relative changes are equal, and their relative errors.

    Logs; where a value is not positive (an empty statement after the loop was subtracted), values
    in units of the typical one.
    """
    import numpy as np

    values = np.array([point.value for point in points], dtype=float)
    sizes = sorted(map(abs, values.tolist()))
    unit = median_low(sizes) or sizes[-1] or 1.0
    with np.errstate(over="ignore"):
        levels = np.log(values) if (values > 0).all() else np.clip(values / unit, -HUGE, HUGE)
    errors = []
    for point in points:
        if point.low is None or point.high is None:
            continue
        # Halved before they are subtracted: the largest floats differ by more than a float holds.
        half = point.high / 2 - point.low / 2
        size = abs(point.value) or unit
        if half >= 0:
            errors.append(min(half / size / REACH, HUGE))
    return levels, errors


def _noise(differences: np.ndarray, errors: Sequence[float]) -> float:
    """Standard deviation of one point around its level."""
    import numpy as np

    sizes = np.abs(differences)
    # Two quantiles of the size of a normal deviation. The median alone would call a series that
    # mostly repeats itself (bytes, two modes) free of noise; beyond 80 % steps and blips begin.
    middle, upper = np.quantile(sizes, [0.5, 0.8], method="lower")
    seen = max(middle / 0.6745, upper / 1.2816) / math.sqrt(2)
    if not errors:
        return max(float(seen), LEAST_NOISE)
    # A quantile of n differences that overlap knows about as much as n / 3 independent ones.
    weight = len(sizes) / 3
    expected = median(errors)
    variance = (weight * seen**2 + INTERVAL_WEIGHT * expected**2) / (weight + INTERVAL_WEIGHT)
    return max(math.sqrt(variance), LEAST_NOISE)


def _without_blips(levels: list[float], noise: float) -> list[float]:
    """Points that stick out from both their sides, drawn in to the nearer one.

    The first point after a step sticks out from what was before it only. Two high points in a row
    are a blip still: the median of three neighbours does not see the other one.
    """
    smoothed = list(levels)
    reach = BLIP * noise
    for index in _suspects(levels, reach):
        level = levels[index]
        before = levels[max(0, index - HOLD) : index]
        after = levels[index + 1 : index + 1 + HOLD]
        away = [_distance(level, before, after), _distance(level, after, before[::-1])]
        least = min(away, key=abs)
        if abs(least) > reach and away[0] * away[1] > 0:
            smoothed[index] = level - least + math.copysign(reach, least)
    return smoothed


def _suspects(levels: list[float], reach: float) -> list[int]:
    """Where a blip may be: wherever a point is far from the medians of both its sides, all points
    looked at in one go, and at the ends, which are judged otherwise."""
    import numpy as np

    count = len(levels)
    if count <= 4 * HOLD:
        return list(range(count))
    values = np.asarray(levels)
    middles = np.median(np.lib.stride_tricks.sliding_window_view(values, HOLD), axis=1)
    inner = np.arange(HOLD, count - HOLD)
    before = values[inner] - middles[inner - HOLD]
    after = values[inner] - middles[inner + 1]
    far = (np.minimum(np.abs(before), np.abs(after)) > reach) & (before * after > 0)
    return [*range(HOLD), *inner[far].tolist(), *range(count - HOLD, count)]


def _distance(level: float, side: Sequence[float], other: Sequence[float]) -> float:
    """From the median of one side. Where that side is cut short by the end of the series, from the
    farthest of the last `HOLD` points: a level at the end counts when all of them are on it."""
    if len(side) >= HOLD - 1:
        return level - median(side)
    rest = [*side, *other[: HOLD - 1 - len(side)]]
    return max((level - value for value in rest), key=abs)


def _segments(levels: np.ndarray) -> list[int]:
    """Edges of the best segmentation, 0 and the number of points included."""
    penalty = PENALTY * math.log(len(levels))
    centred = levels - levels.mean()
    # A split cannot save more than there is; and ruptures takes a second to import.
    if float((centred**2).sum()) <= penalty:
        return [0, len(levels)]
    import ruptures

    # The linear kernel is the least-squares cost; this is PELT in C, a hundred times as fast.
    search = ruptures.KernelCPD(kernel="linear", min_size=HOLD)
    return [0, *search.fit(centred.reshape(-1, 1)).predict(pen=penalty)]


def _tested(levels: np.ndarray, edges: list[int], noise: float) -> tuple[list[int], list[float]]:
    """The edges whose change is beyond doubt, and the doubt that remains about each."""
    places = len(levels) - 2 * HOLD + 1
    while len(edges) > 2:
        doubts = [places * chance for chance in _chances(levels, edges, noise)]
        if max(doubts) < ALARM:
            return edges, doubts
        # Those that are weaker than both their neighbours go at once: the weakest is one of them.
        left, right = [-1.0, *doubts], [*doubts[1:], -1.0]
        kept = [
            edge
            for edge, before, doubt, after in zip(edges[1:], left, doubts, right)
            if doubt < ALARM or doubt <= before or doubt < after
        ]
        edges = [edges[0], *kept, edges[-1]]
    return edges, []


def _chances(levels: np.ndarray, edges: Sequence[int], noise: float) -> list[float]:
    """For each change, the chance that noise alone shows it.

    A machine that is warm today is warm tomorrow: what is left around the levels resembles its
    neighbours, and so few points do not tell how much. Each correlation counts as much as it makes
    these points likely.
    """
    import numpy as np

    fits = [_fit(levels, edges, noise, correlation) for correlation in CORRELATIONS]
    likely = np.array([likelihood for likelihood, _ in fits])
    weights = np.exp(likely - likely.max())
    chances: list[float] = np.average([each for _, each in fits], axis=0, weights=weights).tolist()
    return chances


def _fit(
    levels: np.ndarray, edges: Sequence[int], noise: float, correlation: float
) -> tuple[float, list[float]]:
    """The logarithm of how likely this correlation makes the points, and the chance of each change.

    Generalised least squares. The inverse of such a correlation matrix has three diagonals.
    """
    import numpy as np

    def weighted(values: np.ndarray) -> np.ndarray:
        found = (1 + correlation**2) * values
        found[[0, -1]] -= correlation**2 * values[[0, -1]]
        found[1:] -= correlation * values[:-1]
        found[:-1] -= correlation * values[1:]
        return found

    lengths = np.diff(edges)
    count = len(lengths)
    own = (1 - correlation) ** 2 * lengths + 2 * correlation
    own[0] -= correlation**2
    own[-1] -= correlation**2
    beside = np.eye(count, k=1) + np.eye(count, k=-1)
    precision = np.diag(own) - correlation * beside
    covariance = np.linalg.inv(precision)
    middles = covariance @ np.add.reduceat(weighted(levels), edges[:-1])
    rests = levels - np.repeat(middles, lengths)
    # The noise of one point is that of differences, and this variance that of what is new in one.
    squares = INTERVAL_WEIGHT * noise**2 * (1 + correlation) + float(rests @ weighted(rests))
    freedom = INTERVAL_WEIGHT + len(levels) - count
    variance = max(squares / freedom, noise**2)
    likelihood = math.log(1 - correlation**2) - float(np.linalg.slogdet(precision)[1])
    likelihood -= freedom * math.log(squares)
    spread = np.diag(covariance)[1:] + np.diag(covariance)[:-1] - 2 * np.diag(covariance, 1)
    sizes = np.abs(np.diff(middles)) / np.sqrt(variance * spread)
    return likelihood / 2, [2 * t_tail(freedom, float(size)) for size in sizes]
