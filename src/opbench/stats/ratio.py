"""How many times as long as the baseline? With an interval, and worker starts as the unit.

Four designs give four questions, from the sharpest to the bluntest:

paired       both sides were forked from the same worker starts and ran turn by turn: whatever a
             start's address layout and other programs did, they did to both sides
interleaved  each side has worker starts of its own (another environment, another commit), alive at
             the same time and run turn by turn: drift of the machine cancels, the starts do not
shared       measured at different times, but forked from the same worker starts of the pool: they
             are paired by start, and the machine itself may have changed
separate     two runs, at different times: nothing cancels, and the machine itself may have changed

Each worker start gives one log-ratio (or, when separate, one log on its side), and the interval is
a t interval over them. Where both sides ran turn by turn, each turn gives a log-ratio, a set of
children is the median of its turns, and a start the median of its sets. What the machine does for
some turns it does to both sides, and it is in none of these; the median of each side by itself
would move with it, and made the intervals of identical code on kept samples of a shared host 1.7
times as wide.

That two sides were forked from one start does not make what its layout does to them cancel: between
pairs of different code the ratio itself scatters from start to start, by 1 to 7 % on a quiet
machine. The sets of children within a start only say what the mean of its sets is worth at best.
What earlier pairs showed is averaged in as in `estimate`.

Different times add a shift of the machine, which is the same for all cases of a run: each run knows
its own drift, with its degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from opbench.stats.distributions import t_quantile, t_tail
from opbench.stats.estimate import median_error
from opbench.stats.prior import LEAST_SD, NOTHING, UNKNOWN, Prior, satterthwaite

#: Between two runs of the same code on the same machine, at different times, where the run did not
#: measure its own drift (one or two cases, a fixed number of runs): as seen between 60 stored runs,
#: and worth so few of them that it is believed only roughly.
BETWEEN_RUNS = Prior(0.015, 4.0)

#: Of separate runs, no more starts than this on a side, with those that were learnt, say next to
#: nothing about starts.
TWO_STARTS = 2

#: The log of the largest number there is, and a little less.
LARGEST_LOG = 709.0

#: The share of real differences of the size of `detectable` that are found.
POWER = 0.8

DESIGNS = ("paired", "interleaved", "shared", "separate")


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
    #: Standard deviation between the log-ratios of starts, as these starts alone show it.
    seen: float = 0.0
    #: The part of `error` that all cases of two separate runs have in common, and its freedom.
    shift: float = 0.0
    shift_freedom: float = math.inf

    @property
    def p_value(self) -> float:
        """Probability of a ratio this far from 1, or farther, if both sides were the same."""
        if self.error == 0:
            return 1.0 if self.value == 1 else 0.0
        return 2 * t_tail(self.freedom, abs(math.log(self.value)) / self.error)

    def detectable(self, cases: int = 1, rate: float = 0.05) -> float:
        """The smallest slowdown that data like these show four times out of five: 0.02 is 2 %.

        In a suite of so many cases, it is the only one that changed: then its p-value must be below
        that share of the `rate`.
        """
        if self.error == 0:
            return 0.0
        from scipy.special import nctdtrinc

        threshold = t_quantile(self.freedom, 1 - rate / cases)
        if math.isfinite(self.freedom):
            distance = float(nctdtrinc(self.freedom, 1 - POWER, threshold))
            # An error from few degrees of freedom is more often too small than too large.
            distance /= (1 - 2 / (9 * self.freedom)) ** 1.5 if self.freedom > 1 else 0.67
        else:
            distance = threshold + t_quantile(self.freedom, 2 * POWER - 1)
        return exp(distance * self.error) - 1


@dataclass(frozen=True)
class _Start:
    """One worker start of one side, on the log scale."""

    #: Of each child the median of its blocks.
    children: Sequence[float]
    #: Error of `log` from the noise of the blocks.
    noise: float
    #: Set of children → turn → the log of the block that this side had then.
    turns: Mapping[int, Mapping[int, float]]

    @property
    def log(self) -> float:
        return median(self.children)


#: (worker start, set of children, value), the blocks of a child in the order of its turns. A block
#: without a value was disturbed: it took its turn, and says nothing.
Turned = tuple[int, int, float | None]


def ratio(
    baseline: Iterable[Turned],
    other: Iterable[Turned],
    design: str,
    *,
    start: Prior = NOTHING,
    pair: Prior = NOTHING,
    drifts: tuple[Prior, Prior] = (BETWEEN_RUNS, BETWEEN_RUNS),
) -> Ratio | None:
    """Children of one set were measured turn by turn.

    None where either side has no samples, or a child whose typical value is not positive and
    finite: such values have no ratio.

    Sides that share no worker start are separate, whatever the `design`. `start` and `pair` are
    what earlier cases showed of the variance between starts, and between their ratios; `drifts`
    how much the machine's speed drifted during each of two runs.
    """
    base, new = _starts(baseline), _starts(other)
    if not base or not new:
        return None
    children = (log for each in (*base.values(), *new.values()) for log in each.children)
    if not all(map(math.isfinite, children)):
        return None
    shared = sorted(set(base) & set(new))
    if design == "separate" or not shared:
        return _separate(list(base.values()), list(new.values()), start, drifts)
    logs = [_log_ratio(base[each], new[each], design) for each in shared]
    seen = _variance(logs)
    # What pairs measured at one time scatter says nothing about pairs measured at two.
    known = NOTHING if design == "shared" else pair
    variance, freedom = known.moderated(seen, len(logs) - 1)
    least = _least_variance([base[each] for each in shared], [new[each] for each in shared])
    parts = [(max(variance, least) / len(logs), freedom)]
    shifts = _shifts(drifts) if design == "shared" else []
    return _ratio(sum(logs) / len(logs), parts, shifts, len(logs), design, seen=math.sqrt(seen))


def _log_ratio(base: _Start, new: _Start, design: str) -> float:
    """Of one worker start. What a moment does to a set of children that were measured turn by turn
    it does to both sides; of two times, each side has moments of its own."""
    sets = [] if design == "shared" else [log for log, _ in _of_sets(base, new)]
    return median(sets) if sets else new.log - base.log


def _of_sets(base: _Start, new: _Start) -> list[tuple[float, float]]:
    """Of each set of children that both sides have: its log-ratio, the median over the turns that
    count on both sides, and the error of that from the noise of the turns."""
    found = []
    for each in sorted(base.turns.keys() & new.turns.keys()):
        one, other = base.turns[each], new.turns[each]
        both = [(one[turn], other[turn]) for turn in one if turn in other]
        # Two that are not above zero have no ratio.
        logs = [new - base for base, new in both if max(base, new) > -math.inf]
        if not logs:  # what disturbed one side left the other alone
            logs = [median(other.values()) - median(one.values())]
        found.append((median(logs), median_error(logs)))
    return found


def _least_variance(base: Sequence[_Start], new: Sequence[_Start]) -> float:
    """What the log-ratio of one start scatters at the least: as much as the mean of its sets, or,
    of a single set, the noise of its turns."""
    sets = [found for one, other in zip(base, new, strict=True) if (found := _of_sets(one, other))]
    errors = [error for found in sets for _, error in found]
    each = len(errors) / max(1, len(sets))
    freedom = len(errors) - len(sets)
    if freedom:
        noise = sum(_squares([log for log, _ in found]) for found in sets) / freedom / each
    elif errors:
        noise = sum(error**2 for error in errors) / len(errors)
    else:  # starts that are the same, and no set of children in common
        noise = sum(one.noise**2 + other.noise**2 for one, other in zip(base, new)) / len(base)
    return max(noise, LEAST_SD**2)


def _separate(
    base: Sequence[_Start], new: Sequence[_Start], start: Prior, drifts: tuple[Prior, Prior]
) -> Ratio | None:
    value, parts = 0.0, []
    for sign, side in ((-1, base), (1, new)):
        logs = [each.log for each in side]
        noise = sum(each.noise**2 for each in side) / len(side)
        # Two starts agree by luck so often that a suite would rest on those that do.
        prior = start if start.freedom + len(logs) > TWO_STARTS else UNKNOWN
        variance, freedom = prior.moderated(_variance(logs), len(logs) - 1)
        parts.append((max(variance, noise, LEAST_SD**2) / len(logs), freedom))
        value += sign * sum(logs) / len(logs)
    return _ratio(value, parts, _shifts(drifts), min(len(base), len(new)), "separate")


#: A variance and its degrees of freedom.
_Part = tuple[float, float]


def _shifts(drifts: Iterable[Prior]) -> list[_Part]:
    """What the machine may have changed from one time to the other."""
    return [(max(drift.sd, LEAST_SD) ** 2, drift.freedom) for drift in drifts]


def _ratio(
    log: float,
    parts: Sequence[_Part],
    shifts: Sequence[_Part],
    starts: int,
    design: str,
    seen: float = 0.0,
) -> Ratio | None:
    both = [*parts, *shifts]
    error = math.sqrt(sum(variance for variance, _ in both))
    freedom = satterthwaite(both) if len(both) > 1 else both[0][1]
    value, reach = exp(log), t_quantile(freedom) * error
    if not 0 < value < math.inf:
        return None
    return Ratio(
        value,
        exp(log - reach),
        exp(log + reach),
        starts,
        design,
        error,
        freedom,
        seen=seen,
        shift=math.sqrt(sum(variance for variance, _ in shifts)),
        shift_freedom=satterthwaite(shifts),
    )


def exp(log: float) -> float:
    """`math.exp`, but infinity where that would raise."""
    return math.exp(log) if log < LARGEST_LOG else math.inf


def _starts(samples: Iterable[Turned]) -> dict[int, _Start]:
    """Per worker start: the median log of its children's medians, and the error of that."""
    taken: dict[tuple[int, int], int] = {}
    starts: dict[int, dict[int, dict[int, float]]] = {}
    for start, child, value in samples:
        turn = taken[start, child] = taken.get((start, child), -1) + 1
        if value is None:
            continue
        # A block of zero or less (an empty loop was taken off) is a low value, not a missing one:
        # leaving it out would move the median of the rest.
        log = math.log(value) if value > 0 else -math.inf
        starts.setdefault(start, {}).setdefault(child, {})[turn] = log
    return {start: _start(starts[start]) for start in sorted(starts)}


def _start(turns: Mapping[int, Mapping[int, float]]) -> _Start:
    children = [list(turns[child].values()) for child in sorted(turns)]
    errors = [median_error(logs) for logs in children]
    noise = math.sqrt(sum(error**2 for error in errors)) / len(errors)
    return _Start([median(logs) for logs in children], noise, turns)


def _variance(logs: Sequence[float]) -> float:
    """A single one says nothing about its variance: zero, with no degrees of freedom."""
    return _squares(logs) / (len(logs) - 1) if len(logs) > 1 else 0.0


def _squares(logs: Sequence[float]) -> float:
    mean = sum(logs) / len(logs)
    return sum((log - mean) ** 2 for log in logs)
