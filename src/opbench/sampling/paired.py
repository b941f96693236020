"""The paired design, for cases that will be compared: many short-lived sets of children.

Blocks scatter, and so do children of identical code, and worker starts. So each worker start forks
a set of children (one per case, in random order), lets them take turns for a fraction of a second,
ends them and forks the next set: the sets tell how far each other can be trusted. It stops when
every ratio to the baseline is known well enough and none is in doubt: what looks neither the same
nor clearly different is worth the rest of its time.
"""

from __future__ import annotations

from dataclasses import dataclass

from opbench.plan.policy import Adaptive
from opbench.result import Sample
from opbench.sampling.design import Child, Design, Turn
from opbench.stats.pair import compare_samples
from opbench.stats.ratio import Ratio

#: Turns that each child takes: the median of 25 blocks of 2 ms is known to about 0.5 % where blocks
#: scatter by 2 %, and taking them costs twice as much as forking and warming up the two children.
ROUNDS = 25
#: Where a ratio need not be known better than this, fewer turns will do, unless it is in doubt.
COARSE, COARSE_ROUNDS = 0.01, 15
#: Fewer would not be a median.
LEAST_ROUNDS = 3
#: Nor are they taken where they need so many times what a start was to take: then the starts are
#: the repetition, and the interval, which is over the starts, says how far a turn is to be trusted.
OVER = 1.5
#: Where setting up takes the time of a start (a GPU's context, a compiler), turns get so much of
#: what that took: with so few starts these decide, and more turns would not help.
TURNS_SHARE = 0.5

#: Worker starts of a comparison within one environment, and between two (per side): there each
#: side brings the layout of its own starts, so more of them are needed.
STARTS = {"paired": 6, "interleaved": 6}
#: Fewer would leave the interval to what starts are known to do elsewhere.
LEAST_STARTS = 3
#: Calls of a child at the least: a few to warm up, then its turns.
LEAST_CALLS = 3 + LEAST_ROUNDS
#: Sets of children per worker start, at most; beyond that the starts themselves decide.
MOST_SETS = 6
#: One set alone cannot tell what sets scatter here.
LEAST_SETS = 2

#: A difference is in doubt while its p-value lies between these. Below, a suite of hundreds would
#: still call it real. Above, going on would rarely change the verdict: of effects that lie as far
#: out as the asked precision (two standard errors), every fourth is given up here, and of those
#: twice as far, one in three hundred. Giving up early can only lessen false alarms.
CLEAR, HOPELESS = 0.0005, 0.2


@dataclass
class PairedDesign(Design):
    policy: Adaptive

    def __post_init__(self) -> None:
        super().__post_init__()
        #: Seconds for all cases together.
        self.allowance = self.max_time * self.cases
        #: Whether not even one child of every case fits into memory: then they cannot be paired.
        self.too_large = False
        #: Children of the set that is taking its turns.
        self._children: list[Child] = []
        #: Which round of which start of which set it is, and what its rounds have taken.
        self._round = self._start = self._sets = 0
        self._round_seconds = 0.0

    def finished(self) -> bool:
        return self.too_large or super().finished()

    def opened(self, child: Child) -> None:
        super().opened(child)
        self._children.append(child)

    def room(self, children: int) -> None:
        if children < 1:
            self.too_large, self.relation = True, "separate"
            return
        # Fewer starts where a call takes a second, or setting up a child does (a GPU's context, a
        # compiler): the interval will say so.
        wanted = max(STARTS[self.relation], self.policy.pair_starts)
        calls = sum(child.per_call for child in self._children) * LEAST_CALLS
        turn = max(calls, sum(child.seconds for child in self._children) * LEAST_SETS)
        if turn > 0:
            wanted = max(LEAST_STARTS, min(wanted, int(self.allowance / turn)))
        self.starts = tuple(range(self.first_start, self.first_start + wanted))

    def _turn(self) -> Turn:
        # The children of the first turn are those of the first set: setting up is dear.
        fresh = self._round == 0 and (self._sets, self._start) != (0, 0)
        if fresh:
            self._children, self._round_seconds = [], 0.0
        return Turn((self.starts[self._start],), fresh=fresh)

    def add(self, sample: Sample, seconds: float = 0.0, case: int = 0) -> None:
        self._round_seconds += seconds
        super().add(sample, seconds, case)

    def _turn_over(self) -> None:
        self._round += 1
        if self._round < self._rounds():
            return
        self._round = 0
        self._start += 1
        if self._start < len(self.starts):
            return
        self._start = 0
        self._sets += 1
        self.stopped = self._judged()

    def _rounds(self) -> int:
        """How many turns each child of this set takes."""
        seconds = self.allowance / len(self.starts)
        set_up = sum(child.seconds for child in self._children)
        left = max(seconds - set_up, TURNS_SHARE * set_up)
        turn = sum(child.n * child.per_call for child in self._children)
        # A block may take far longer than its calls: a GPU is woken, and its recorder attached.
        turn = max(turn, self._round_seconds / self._round)
        coarse = self.policy.precision >= COARSE and self._sets < LEAST_SETS
        most = COARSE_ROUNDS if coarse else ROUNDS
        least = LEAST_ROUNDS if turn * LEAST_ROUNDS <= OVER * seconds else 1
        return max(least, min(most, int(left / turn) if turn > 0 else most))

    def _judged(self) -> str:
        """Why to stop: the ratios are known well enough, or the time is spent; empty to go on."""
        for case in sorted(self.active):
            self._estimate(case)
        ratios = self._ratios()
        known = all(is_known(found, self.policy.precision) for found in ratios)
        if known and self._sets >= LEAST_SETS and not any(map(in_doubt, ratios)):
            return "precise"
        # Another set of children of every start costs what the last ones did.
        spent = sum(self.spent)
        if spent + spent / self._sets > self.allowance or self._sets == MOST_SETS:
            return "precise" if known else "time"
        return ""

    def _ratios(self) -> list[Ratio | None]:
        """Of every case to the baseline; nothing is left to know of what failed."""
        if self.base not in self.active:
            return []
        base = self.result(self.base)
        return [
            compare_samples(base, self.result(case), self.relation, self.learnt)
            for case in sorted(self.active - {self.base})
        ]


def is_known(found: Ratio | None, precision: float) -> bool:
    """No ratio is not a known ratio."""
    return found is not None and (found.high - found.low) / 2 / found.value <= precision


def in_doubt(found: Ratio | None) -> bool:
    return found is not None and CLEAR < found.p_value < HOPELESS
