"""How many times as long as the baseline? With an interval, and worker starts as the unit.

Three designs give three questions, from the sharpest to the bluntest:

paired       both sides were forked from the same worker starts and ran turn by turn: whatever a
             start's address layout and other programs did, they did to both sides
interleaved  each side has worker starts of its own (another environment, another commit), alive at
             the same time and run turn by turn: drift of the machine cancels, the starts do not
separate     two runs, at different times: nothing cancels, and the machine itself may have changed

Each worker start gives one log-ratio (or, when separate, one log on its side); the variance
between them is moderated as in `estimate`: what these starts show is averaged with what starts are
known to show. A pair whose starts forked several sets of children knows better than that: how much
its own sets scatter is what its starts are expected to scatter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from opbench.stats.estimate import (
    DEFAULT_START_SD,
    START_SD_WEIGHT,
    Placed,
    median_error,
    t_quantile,
)

#: What identical code is known to scatter, relative, in logs; docs/statistics.md has the
#: experiments. Between the children of one pair, forked from the same worker, beyond what the noise
#: of their blocks explains:
CHILD_PAIR = 0.004
#: What remains between worker starts when many children of each are averaged: code placed
#: differently relative to its data favours one side or the other.
START_PAIR = 0.003
#: Between two runs of the same code on the same machine, at different times.
BETWEEN_RUNS = 0.015

#: The log of the largest number there is, and a little less.
LARGEST_LOG = 709.0

#: How much weight the children of a pair may give to what is expected of its starts. They tell what
#: children scatter, not what starts do, so starts that differ more must still be heard.
MOST_WEIGHT = 8

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
    #: The log of each child, in the order of their forks.
    children: tuple[float, ...]


def ratio(
    baseline: Iterable[Placed],
    other: Iterable[Placed],
    design: str,
    start_sd: float = DEFAULT_START_SD,
) -> Ratio | None:
    """None where either side has no samples, or a child whose typical value is not positive and
    finite: such values have no ratio.

    Sides that share no worker start are separate, whatever the `design`.
    `start_sd` is the relative standard deviation between starts of identical code on this machine.
    """
    base, new = _starts(baseline), _starts(other)
    if not base or not new:
        return None
    if not all(math.isfinite(start.log) for start in (*base.values(), *new.values())):
        return None
    shared = sorted(set(base) & set(new))
    if design == "separate" or not shared:
        return _separate(list(base.values()), list(new.values()), start_sd)
    logs = [new[start].log - base[start].log for start in shared]
    noise = [new[start].noise ** 2 + base[start].noise ** 2 for start in shared]
    if design == "paired":
        expected, weight = _expected_of_pairs([base[s] for s in shared], [new[s] for s in shared])
    else:
        expected, weight = 2 * start_sd**2 + sum(noise) / len(noise), START_SD_WEIGHT
    variance, freedom = _moderated(logs, expected, weight)
    error = math.sqrt(variance / len(logs))
    return _ratio(sum(logs) / len(logs), error, freedom, len(logs), design)


def _expected_of_pairs(base: Sequence[_Start], new: Sequence[_Start]) -> tuple[float, int]:
    """What the log-ratio of one start is expected to scatter, as a variance, and how many starts
    that expectation is worth."""
    sets = [
        [theirs - ours for ours, theirs in zip(one.children, other.children, strict=False)]
        for one, other in zip(base, new, strict=True)
    ]
    each = sum(map(len, sets)) / len(sets)
    pairs = zip(base, new, strict=True)
    # The noise of a start is that of the mean of its children; of one child it is more.
    noise = sum((one.noise**2 + other.noise**2) * each for one, other in pairs) / len(sets)
    freedom = sum(len(logs) - 1 for logs in sets)
    seen = sum(_squares(logs) for logs in sets)
    child = (START_SD_WEIGHT * (CHILD_PAIR**2 + noise) + seen) / (START_SD_WEIGHT + freedom)
    return child / each + START_PAIR**2, min(START_SD_WEIGHT + freedom, MOST_WEIGHT)


def _separate(base: Sequence[_Start], new: Sequence[_Start], start_sd: float) -> Ratio | None:
    value, variance, freedom = 0.0, 2 * BETWEEN_RUNS**2, 0.0
    for sign, side in ((-1, base), (1, new)):
        logs = [start.log for start in side]
        noise = sum(start.noise**2 for start in side) / len(side)
        each, degrees = _moderated(logs, start_sd**2 + noise)
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
    for (start, _), logs in sorted(children.items()):
        found.setdefault(start, []).append((median(logs), median_error(logs)))
    return {
        start: _Start(
            sum(log for log, _ in each) / len(each),
            math.sqrt(sum(error**2 for _, error in each)) / len(each),
            tuple(log for log, _ in each),
        )
        for start, each in found.items()
    }


def _moderated(
    logs: Sequence[float], expected: float, weight: int = START_SD_WEIGHT
) -> tuple[float, float]:
    """Variance of one start's log, the expected and the observed averaged, and its freedom."""
    freedom = weight + len(logs) - 1
    return (weight * expected + _squares(logs)) / freedom, freedom


def _squares(logs: Sequence[float]) -> float:
    mean = sum(logs) / len(logs)
    return sum((log - mean) ** 2 for log in logs)
