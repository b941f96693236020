"""How many times as long as the baseline? Paired where blocks were interleaved.

Each worker start gives one log-ratio: both sides ran in it, turn by turn, so whatever its address
layout and its neighbours did, they did to both. The starts are the unit of replication, and the
variance between them is moderated as in `estimate`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from opbench.stats.estimate import LAYOUT, LAYOUT_WEIGHT, Placed, median_error, t_quantile

#: Standard deviation of the ratio between two children of one worker start, relative: measured
#: 0.65 % per child, so √2 of that for a pair.
PAIR_LAYOUT = 0.009


@dataclass(frozen=True)
class Ratio:
    """`value` 1.10 reads as: takes 10 % longer than the baseline."""

    value: float
    low: float
    high: float
    #: Worker starts that both sides share, or the smaller number of starts when unpaired.
    starts: int
    paired: bool


def ratio(baseline: Iterable[Placed], other: Iterable[Placed]) -> Ratio | None:
    """None where either side has no positive samples."""
    base, new = _logs(baseline), _logs(other)
    if not base or not new:
        return None
    shared = sorted(set(base) & set(new))
    if shared:
        logs = [new[start][0] - base[start][0] for start in shared]
        noise = [math.hypot(new[start][1], base[start][1]) for start in shared]
        return _interval(logs, noise, PAIR_LAYOUT, paired=True)
    value = _mean([log for log, _ in new.values()]) - _mean([log for log, _ in base.values()])
    variance, freedom = 0.0, 0.0
    for side in (base, new):
        logs = [log for log, _ in side.values()]
        each, degrees = _variance(logs, [error for _, error in side.values()], LAYOUT)
        variance += each / len(logs)
        freedom += degrees
    reach = t_quantile(freedom) * math.sqrt(variance)
    return Ratio(
        math.exp(value),
        math.exp(value - reach),
        math.exp(value + reach),
        min(len(base), len(new)),
        False,
    )


def _logs(samples: Iterable[Placed]) -> dict[int, tuple[float, float]]:
    """Per worker start: the mean log of its children's medians, and the error of that."""
    children: dict[tuple[int, int], list[float]] = {}
    for start, session, value in samples:
        if value > 0:
            children.setdefault((start, session), []).append(math.log(value))
    starts: dict[int, list[tuple[float, float]]] = {}
    for (start, _), logs in children.items():
        starts.setdefault(start, []).append((median(logs), median_error(logs)))
    return {
        start: (
            _mean([log for log, _ in found]),
            math.sqrt(sum(error**2 for _, error in found)) / len(found),
        )
        for start, found in starts.items()
    }


def _interval(logs: list[float], noise: list[float], layout: float, *, paired: bool) -> Ratio:
    value = _mean(logs)
    variance, freedom = _variance(logs, noise, layout)
    reach = t_quantile(freedom) * math.sqrt(variance / len(logs))
    return Ratio(
        math.exp(value), math.exp(value - reach), math.exp(value + reach), len(logs), paired
    )


def _variance(logs: list[float], noise: list[float], layout: float) -> tuple[float, float]:
    """Moderated variance of one start's log, and its degrees of freedom."""
    freedom = len(logs) - 1
    mean = _mean(logs)
    seen = sum((log - mean) ** 2 for log in logs)
    expected = layout**2 + sum(error**2 for error in noise) / len(noise)
    total = LAYOUT_WEIGHT + freedom
    return (LAYOUT_WEIGHT * expected + seen) / total, total


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
