"""How opbench fares on samples that are kept: intervals that hold, alarms, and 2 % that is found.

A run is played again: a few of the worker starts that were measured serve all pairs of a half, in
random order, and each pair is given what those before it showed. The truth of a pair is the mean
over all starts. Each pair is judged alone, as by `opbench ab`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from opbench.result import Sample
from opbench.stats.pair import compare_samples
from opbench.stats.ratio import Ratio
from opbench.stats.start_variance import NOTHING_LEARNT, Learnt, StartVariance
from opbench.stats.verdict import Question, verdicts
from perf.calibration.figure import Figure
from perf.holdout.pairs import HALVES
from perf.holdout.samples import Measured

#: Worker starts of a run that is played, and how many such runs there are.
STARTS, RUNS = (4, 6), 100

Side = dict[int, tuple[Sample, ...]]


@dataclass
class Tally:
    """Of the pairs of one question: how many, and of how many each was true."""

    pairs: int = 0
    holds: int = 0
    holds_alone: int = 0
    different: int = 0
    slower: int = 0
    widths: list[float] = field(default_factory=list)
    #: By pair, whether each of its intervals held.
    each: defaultdict[int, list[bool]] = field(default_factory=lambda: defaultdict(list))

    def add(self, pair: int, found: Ratio, alone: Ratio, truth: float) -> None:
        (given,) = verdicts([Question(found.value, found.low, found.high, found.p_value)])
        held = found.low <= truth <= found.high
        self.pairs += 1
        self.holds += held
        self.holds_alone += alone.low <= truth <= alone.high
        self.different += given.verdict in ("slower", "faster")
        self.slower += given.verdict == "slower"
        self.widths.append((found.high - found.low) / 2 / found.value)
        self.each[pair].append(held)

    def share(self, count: int) -> float:
        return count / self.pairs

    @property
    def worst(self) -> float:
        return min(float(np.mean(held)) for held in self.each.values())


def figures(measured: Measured, runs: int = RUNS) -> Iterator[Figure]:
    for half in HALVES:
        if half in measured.halves:
            for starts in STARTS:
                yield from _of_half(measured, half, starts, runs)


def _of_half(measured: Measured, half: str, starts: int, runs: int) -> Iterator[Figure]:
    tallies = played(measured, half, starts, runs)
    where = f"{half} half, {starts} starts"
    different, identical, injected = (
        tallies[question] for question in ("different", "identical", "injected")
    )
    count = len(different.each)
    width = f"median ± {np.median(different.widths):.1%}"
    yield Figure(f"{where}: {count} pairs of different code ({width}), holds",
                 different.share(different.holds), 0.92)  # fmt: skip
    yield Figure(f"{where}: the same, each as the first of its run",
                 different.share(different.holds_alone), 0.92)  # fmt: skip
    yield Figure(f"{where}: the same, the pair that holds least often", different.worst)
    yield Figure(f"{where}: {len(identical.each)} identical pairs "
                 f"(median ± {np.median(identical.widths):.1%}), alarms",
                 identical.share(identical.different), most=0.05)  # fmt: skip
    yield Figure(f"{where}: {len(injected.each)} pairs with 2 % injected, found",
                 injected.share(injected.slower), 0.95 if starts == 6 else 0.0)  # fmt: skip


def played(measured: Measured, half: str, starts: int, runs: int) -> dict[str, Tally]:
    """So many runs over the pairs of a half, each with so many of the starts."""
    rng = np.random.default_rng([18, starts])
    pairs = [index for index, each in enumerate(measured.halves) if each == half]
    sides = {pair: (measured.samples(pair, 0), measured.samples(pair, 1)) for pair in pairs}
    every = list(range(measured.logs.shape[1]))
    truth = {pair: _ratio(sides[pair], every).value for pair in pairs}
    tallies: dict[str, Tally] = {question: Tally() for question in set(measured.questions)}
    for _ in range(runs):
        chosen = [int(start) for start in rng.choice(every, starts, replace=False)]
        learnt = StartVariance()
        for pair in rng.permutation(pairs):
            alone = _ratio(sides[pair], chosen)
            found = _ratio(sides[pair], chosen, Learnt(pair=learnt.prior))
            tallies[measured.questions[pair]].add(int(pair), found, alone, truth[pair])
            learnt.add(alone)
    return tallies


def _ratio(sides: tuple[Side, Side], starts: list[int], learnt: Learnt = NOTHING_LEARNT) -> Ratio:
    base, new = ([sample for start in starts for sample in side[start]] for side in sides)
    found = compare_samples(base, new, "paired", learnt)
    assert found is not None
    return found
