"""How many times as long as the baseline? With an interval, and worker starts as the unit.

Three designs give three questions, from the sharpest to the bluntest:

paired       both sides were forked from the same worker starts and ran turn by turn: whatever a
             start's address layout and its neighbours did, they did to both sides
interleaved  each side has worker starts of its own (another environment, another commit), alive at
             the same time and run turn by turn: drift of the machine cancels, layout does not
separate     two runs, at different times: nothing cancels, and the machine itself may have changed

Each worker start gives one log-ratio (or, when separate, one log on its side); the variance
between them is moderated as in `estimate`: what these starts show is averaged with what starts are
known to show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from opbench.stats.estimate import LAYOUT, LAYOUT_WEIGHT, Placed, median_error, t_quantile

#: What identical code is known to scatter, relative, in logs; docs/statistics.md has the
#: experiments. Between the children of one pair, forked from the same worker:
CHILD_PAIR = 0.007
#: What remains between worker starts when many children of each are averaged: code placed
#: differently relative to its data favours one side or the other.
START_PAIR = 0.003
#: Between two runs of the same code on the same machine, at different times.
BETWEEN_RUNS = 0.015

#: The log of the largest number there is, and a little less.
LARGEST_LOG = 709.0

DESIGNS = ("paired", "interleaved", "separate")


@dataclass(frozen=True)
class Ratio:
    """`value` 1.10 reads as: takes 10 % longer than the baseline."""

    value: float
    low: float
    high: float
    #: Worker starts the interval rests on (of the side that has fewer, when separate).
    starts: int
    design: str
    #: Standard error of the log of `value`, and the degrees of freedom behind it.
    error: float
    freedom: float

    @property
    def paired(self) -> bool:
        return self.design != "separate"

    @property
    def p_value(self) -> float:
        """Probability of a ratio this far from 1, or farther, if both sides were the same."""
        if self.error == 0:
            return 1.0 if self.value == 1 else 0.0
        from scipy.special import stdtr

        return float(2 * stdtr(self.freedom, -abs(math.log(self.value)) / self.error))

    @property
    def detectable(self) -> float:
        """The smallest slowdown that data like these show four times out of five: 0.02 is 2 %."""
        reach = t_quantile(self.freedom) + t_quantile(self.freedom, 0.6)
        return exp(reach * self.error) - 1


@dataclass(frozen=True)
class _Start:
    """One worker start of one side, on the log scale."""

    log: float
    #: Error of that log from the noise of its blocks.
    noise: float
    children: int


def ratio(
    baseline: Iterable[Placed],
    other: Iterable[Placed],
    design: str | None = None,
    layout: float = LAYOUT,
) -> Ratio | None:
    """None where either side has no samples, or a child whose typical value is not positive and
    finite: such values have no ratio.

    Without a `design`, sides that share worker starts are taken for paired, others for separate.
    `layout` is what starts of identical code scatter on this machine.
    """
    base, new = _starts(baseline), _starts(other)
    if not base or not new:
        return None
    if not all(math.isfinite(start.log) for start in (*base.values(), *new.values())):
        return None
    shared = sorted(set(base) & set(new))
    design = design or ("paired" if shared else "separate")
    if design == "separate" or not shared:
        return _separate(list(base.values()), list(new.values()), layout)
    logs = [new[start].log - base[start].log for start in shared]
    noise = [new[start].noise ** 2 + base[start].noise ** 2 for start in shared]
    children = sum(min(new[s].children, base[s].children) for s in shared) / len(shared)
    if design == "paired":
        expected = CHILD_PAIR**2 / children + START_PAIR**2
    else:
        expected = 2 * layout**2
    variance, freedom = _moderated(logs, expected + sum(noise) / len(noise))
    error = math.sqrt(variance / len(logs))
    return _ratio(sum(logs) / len(logs), error, freedom, len(logs), design)


def _separate(base: Sequence[_Start], new: Sequence[_Start], layout: float) -> Ratio | None:
    value, variance, freedom = 0.0, 2 * BETWEEN_RUNS**2, 0.0
    for sign, side in ((-1, base), (1, new)):
        logs = [start.log for start in side]
        noise = sum(start.noise**2 for start in side) / len(side)
        each, degrees = _moderated(logs, layout**2 + noise)
        value += sign * sum(logs) / len(logs)
        variance += each / len(logs)
        freedom += degrees
    starts = min(len(base), len(new))
    return _ratio(value, math.sqrt(variance), freedom, starts, "separate")


def _ratio(log: float, error: float, freedom: float, starts: int, design: str) -> Ratio | None:
    value, reach = exp(log), t_quantile(freedom) * error
    if not 0 < value < math.inf:
        return None
    return Ratio(value, exp(log - reach), exp(log + reach), starts, design, error, freedom)


def exp(log: float) -> float:
    """`math.exp`, but infinity where that would raise."""
    return math.exp(log) if log < LARGEST_LOG else math.inf


def _starts(samples: Iterable[Placed]) -> dict[int, _Start]:
    """Per worker start: the mean log of its children's medians, and the error of that."""
    children: dict[tuple[int, int], list[float]] = {}
    for start, session, value in samples:
        # A block of zero or less (an empty loop was taken off) is a low value, not a missing one:
        # leaving it out would move the median of the rest.
        log = math.log(value) if value > 0 else -math.inf
        children.setdefault((start, session), []).append(log)
    found: dict[int, list[tuple[float, float]]] = {}
    for (start, _), logs in children.items():
        found.setdefault(start, []).append((median(logs), median_error(logs)))
    return {
        start: _Start(
            sum(log for log, _ in each) / len(each),
            math.sqrt(sum(error**2 for _, error in each)) / len(each),
            len(each),
        )
        for start, each in found.items()
    }


def _moderated(logs: Sequence[float], expected: float) -> tuple[float, float]:
    """Variance of one start's log, experience and evidence averaged, and its freedom."""
    mean = sum(logs) / len(logs)
    seen = sum((log - mean) ** 2 for log in logs)
    freedom = LAYOUT_WEIGHT + len(logs) - 1
    return (LAYOUT_WEIGHT * expected + seen) / freedom, freedom
