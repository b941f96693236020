"""How opbench fares on samples that are kept: intervals that hold, alarms, and 2 % that is found.

A run is played again: a few of the worker starts that were measured serve all pairs of a half, in
random order, and each pair is given what those before it showed. Each pair is judged alone, as by
`opbench ab`. The truth is the mean over all starts that were measured, N of them. The n that a run
plays are among them, and so nearer to it than to the mean of endless starts: the rows that say so
shorten the interval by √(1 - n/N), which makes good for that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from opbench.plan.policy import Adaptive
from opbench.result import Sample
from opbench.stats.pair import compare_samples
from opbench.stats.ratio import Ratio
from opbench.stats.start_variance import NOTHING_LEARNT, Learnt, StartVariance
from opbench.stats.verdict import Question, verdicts
from perf.calibration.figure import Figure
from perf.calibration.one_case import sampled
from perf.holdout.pairs import HALVES
from perf.holdout.samples import Measured

#: Worker starts of a comparison that is played, and how many such runs there are.
STARTS, RUNS = (4, 6), 50
#: The same of single cases, sampled as by `opbench run`.
POLICY, CASE_RUNS = Adaptive(max_time=1e6), 5

Side = dict[int, tuple[Sample, ...]]


@dataclass
class Tally:
    """Of the pairs of one question, or of single cases: whether each was so, one by one."""

    holds: list[bool] = field(default_factory=list)
    #: With the interval shortened for starts that are few of many.
    holds_endless: list[bool] = field(default_factory=list)
    holds_alone: list[bool] = field(default_factory=list)
    different: list[bool] = field(default_factory=list)
    slower: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    pairs: list[int] = field(default_factory=list)

    def add(self, pair: int, found: Ratio, alone: Ratio, truth: float, part: float) -> None:
        (given,) = verdicts([Question(found.value, found.low, found.high, found.p_value)])
        self.pairs.append(pair)
        self.holds.append(found.low <= truth <= found.high)
        reach = math.log(found.high / found.value) * math.sqrt(1 - part)
        self.holds_endless.append(abs(math.log(truth / found.value)) <= reach)
        self.holds_alone.append(alone.low <= truth <= alone.high)
        self.different.append(given.verdict in ("slower", "faster"))
        self.slower.append(given.verdict == "slower")
        self.widths.append((found.high - found.low) / 2 / found.value)

    @property
    def count(self) -> int:
        return len(set(self.pairs))

    @property
    def width(self) -> str:
        return f"median ± {np.median(self.widths):.1%}"


def share(seen: list[bool]) -> float:
    return float(np.mean(seen))


def figures(measured: Measured, runs: int = RUNS, case_runs: int = CASE_RUNS) -> Iterator[Figure]:
    for half in HALVES:
        if half in measured.halves:
            for starts in STARTS:
                yield from _of_pairs(measured, half, starts, runs)
            yield from _of_cases(measured, half, case_runs)


# -- pairs -------------------------------------------------------------------------------------


def _of_pairs(measured: Measured, half: str, starts: int, runs: int) -> Iterator[Figure]:
    tallies = played(measured, half, starts, runs)
    where = f"{half} half, {starts} starts"
    code, same, slow = (tallies[each] for each in ("different", "identical", "injected"))
    pairs = f"{where}: {code.count} pairs of different code"
    yield Figure(f"{pairs} ({code.width}), holds", share(code.holds), 0.92)
    yield Figure(f"{pairs}, each as the first of its run, holds", share(code.holds_alone), 0.92)
    yield Figure(f"{pairs}, as if of endless starts, holds", share(code.holds_endless), 0.92)
    least = min(
        share([held for held, other in zip(code.holds, code.pairs, strict=True) if other == pair])
        for pair in set(code.pairs)
    )
    yield Figure(f"{pairs}, the one that holds least often, holds", least)
    yield Figure(f"{where}: {same.count} identical pairs ({same.width}), alarms",
                 share(same.different), most=0.05)  # fmt: skip
    yield Figure(f"{where}: {slow.count} pairs with 2 % injected ({slow.width}), found",
                 share(slow.slower), 0.95 if starts == 6 else 0.0)  # fmt: skip


def played(measured: Measured, half: str, starts: int, runs: int) -> dict[str, Tally]:
    """So many runs over the pairs of a half, each with so many of the starts."""
    rng = np.random.default_rng([18, starts])
    pairs = [index for index, each in enumerate(measured.halves) if each == half]
    sides = {pair: (measured.samples(pair, 0), measured.samples(pair, 1)) for pair in pairs}
    every = list(range(measured.starts))
    truth = {pair: _ratio(sides[pair], every).value for pair in pairs}
    tallies: dict[str, Tally] = {question: Tally() for question in set(measured.questions)}
    for _ in range(runs):
        chosen = [int(start) for start in rng.choice(every, starts, replace=False)]
        learnt = StartVariance()
        for pair in map(int, rng.permutation(pairs)):
            alone = _ratio(sides[pair], chosen)
            found = _ratio(sides[pair], chosen, Learnt(pair=learnt.prior))
            part = starts / len(every)
            tallies[measured.questions[pair]].add(pair, found, alone, truth[pair], part)
            learnt.add(alone)
    return tallies


def _ratio(sides: tuple[Side, Side], starts: list[int], learnt: Learnt = NOTHING_LEARNT) -> Ratio:
    base, new = ([sample for start in starts for sample in side[start]] for side in sides)
    found = compare_samples(base, new, "paired", learnt)
    assert found is not None
    return found


# -- single cases ------------------------------------------------------------------------------


def _of_cases(measured: Measured, half: str, runs: int) -> Iterator[Figure]:
    """Both sides of the pairs of different code, each sampled until it is known to ±2 %, from at
    most twelve starts."""
    rng = np.random.default_rng([18, 0])
    cases = [(pair, side) for pair in measured.of("different", half) for side in (0, 1)]
    held, precise = [], []
    for _ in range(runs):
        chosen = rng.choice(measured.starts, POLICY.max_starts, replace=False)
        learnt = StartVariance()
        for number in rng.permutation(len(cases)):
            pair, side = cases[number]
            # The first child of each start, from its first block again when it has no more.
            blocks = np.exp(measured.logs[pair, :, 0, side])
            truth = float(np.median(blocks, axis=1).mean())
            first = np.resize(blocks[chosen].T, (1000, len(chosen)))

            def block(start: int, number: int, first: np.ndarray = first) -> float:
                return float(first[number, start])

            design, found = sampled(block, POLICY, Learnt(start=learnt.prior))
            reach = (found.high - found.value) * math.sqrt(1 - found.starts / measured.starts)
            held.append(abs(found.value - truth) <= reach)
            precise.append(design.stopped == "precise")
            learnt.add(found)
    where = f"{half} half: {len(cases)} cases alone, ± 2 % or 12 starts, as if of endless starts"
    yield Figure(f"{where}, holds", share(held), 0.92)
    those = [each for each, known in zip(held, precise, strict=True) if known]
    yield Figure(f"{where}, of the precise ({share(precise):.0%}), holds",
                 share(those) if those else 1.0, 0.92)  # fmt: skip
