"""The adaptive design: blocks of one case over several worker starts, until its interval is narrow.

The first child shows what a call costs. Then all the starts that the time of the case pays for take
their turns, in random order; where the starts themselves decide, more of them are added. Where
memory does not hold their children side by side, one start follows the other.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from opbench.plan.policy import Adaptive
from opbench.result import Sample
from opbench.sampling.design import Child, Design, Turn
from opbench.stats.estimate import LEAST_STARTS, is_precise, starts_for

#: Blocks of one start need not be averaged further than this share of the asked precision: below
#: it the starts decide.
WITHIN_SHARE = 0.2
#: Nor further than this share of what starts scatter: it would add 8 % to the interval.
WITHIN_BETWEEN = 0.4

#: Worker starts that are added together when those there are do not suffice.
STARTS_AT_ONCE = max(1, min(4, len(os.sched_getaffinity(0))))

#: While less than this is known of what starts do here (degrees of freedom), a case takes so many
#: of them even if its time pays for one: alone, it could only say ±22 %, and so could all after it.
#: Beyond its time by no more than this factor.
KNOWN, LEARNING_STARTS, LEARNING_FACTOR = 2.0, 3, 2.0

#: The least number of rounds is finished beyond the time of a case when that adds no more than this
#: share of what setting up has cost;
FINISH_SHARE = 0.5
#: and so many rounds when that costs no more than setting up did: one block alone says nothing.
FEW_ROUNDS = 3
#: A single call that takes so many blocks' time is itself an average: then few rounds will do.
LONG_CALL = 2


@dataclass
class AdaptiveDesign(Design):
    policy: Adaptive

    def __post_init__(self) -> None:
        super().__post_init__()
        policy = self.policy
        known = self.learnt.start
        # Where nothing is known, the first few starts show how many more it takes.
        needed = (
            starts_for(policy.precision, known.sd, known.freedom, most=policy.max_starts)
            if known.freedom > 0
            else LEAST_STARTS
        )
        #: How many starts are to be taken.
        self._wanted = min(max(policy.starts, needed), policy.max_starts)
        #: Whether one start follows the other, because their children do not fit side by side.
        self.in_turns = False
        self._first_call = 0.0
        self._least_rounds = policy.min_rounds
        #: Blocks of each start whose children live; how many starts there have been.
        self._blocks: dict[int, int] = {}
        self._taken = 0
        #: Rounds since the last children joined, and what had been spent by then.
        self._rounds = 0
        self._set_up = 0.0

    def opened(self, child: Child) -> None:
        super().opened(child)
        self._first_call = self._first_call or child.per_call
        if self._first_call >= LONG_CALL * self.policy.block_seconds:
            self._least_rounds = min(FEW_ROUNDS, self.policy.min_rounds)
        self._set_up = self.spent[0]

    def room(self, children: int) -> None:
        """How many starts the case can pay, and whether they live side by side."""
        cost = self.spent[0] + self._first_call
        if cost > 0:
            unknown = self.learnt.start.freedom < KNOWN
            learning = LEARNING_STARTS * cost <= LEARNING_FACTOR * self.max_time
            least = min(LEARNING_STARTS, self._wanted) if unknown and learning else 1
            self._wanted = max(least, min(self._wanted, int(self.max_time / cost)))
        self.in_turns = children < self._wanted
        self._begin(1 if self.in_turns else self._wanted)

    def _begin(self, count: int) -> None:
        """Let so many more starts take part."""
        if self.in_turns:
            self._blocks = {}
        first = self.first_start + self._taken
        self._blocks.update(dict.fromkeys(range(first, first + count), 0))
        self._taken += count
        self.starts = tuple(self._blocks)
        self._rounds, self._set_up = 0, self.spent[0]

    def _turn(self) -> Turn:
        # Starts that joined later first catch up; the others have been heard.
        late = [start for start, blocks in self._blocks.items() if blocks < self._least_rounds]
        return Turn(
            tuple(late) or self.starts,
            fresh=self.in_turns and self._taken > 1 and self._rounds == 0,
        )

    def add(self, sample: Sample, seconds: float = 0.0, case: int = 0) -> None:
        self._blocks[sample.start] += 1
        super().add(sample, seconds, case)

    def _turn_over(self) -> None:
        self._rounds += 1
        self.stopped = self._judged()
        if not self.stopped:
            return
        if self.in_turns and self._taken < self._wanted:
            self.stopped = ""
            self._begin(1)
        elif self.stopped == "starts" and not self.in_turns:
            self._add_starts()

    def _judged(self) -> str:
        """Why to stop with the starts there are; empty to go on."""
        policy, spent = self.policy, self.spent[0]
        share = self._taken / self._wanted if self.in_turns else 1.0
        late = spent >= self.max_time * share
        if self._rounds < self._least_rounds and (not late or self._nearly_free(spent)):
            return ""
        now = self._estimate(0)
        if now is None:
            return ""
        if is_precise(now, policy.precision, self.learnt.start):
            return "precise"
        if late:
            return "time"
        enough = max(policy.precision * WITHIN_SHARE, now.between * WITHIN_BETWEEN)
        # More blocks of these starts would not help; more starts might.
        return "starts" if self._rounds >= self._least_rounds and now.within <= enough else ""

    def _nearly_free(self, spent: float) -> bool:
        """Where setting up took the time (a GPU's context, a compiler), a few more blocks cost
        next to nothing."""
        each = (spent - self._set_up) / self._rounds
        least, few = self._least_rounds - self._rounds, FEW_ROUNDS - self._rounds
        return least * each <= self._set_up * FINISH_SHARE or 0 < few * each <= self._set_up

    def _add_starts(self) -> None:
        more = min(STARTS_AT_ONCE, self.policy.max_starts - self._taken)
        if more <= 0:
            return
        if self.spent[0] + self.spent[0] / self._taken > self.max_time:
            self.stopped = "time"
            return
        self.stopped = ""
        self._begin(more)
