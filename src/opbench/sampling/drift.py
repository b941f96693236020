"""Drift control: cases that stay alive after their turn, and are measured again between the others.

They show how much this machine's speed drifts while a run goes on, which no case can know from the
seconds it was measured in (`opbench.stats.drift`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from opbench.result import Result, Sample
from opbench.sampling.lane import Lane
from opbench.sampling.sampler import Sampled
from opbench.stats.contention import waited_long
from opbench.stats.drift import drift_between, widen
from opbench.stats.prior import Prior
from opbench.workers.process import WorkerError
from opbench.workers.session import SessionEnded

#: Cases that are kept, each of another name: what slows one kind of work may spare another.
MOST_CASES = 4
#: Blocks of one visit to one of them: two halves, each with a median. Many short visits tell more
#: than few long ones: five visits of ten blocks gave intervals of ±70 % in every tenth short run.
BLOCKS = 6
#: A block that takes longer would cost too much.
LONGEST_BLOCK = 0.03
#: A lane that holds more of the free memory would be in the way of others.
MEMORY_SHARE = 0.02
#: Seconds that a block may wait for a core that nobody shares.
PATIENCE = 0.05
#: Visits take no more than this share of a run, and lie at least so many seconds apart; after so
#: many of them, the machine is known well enough to look less and less often.
TIME_SHARE, APART, PLENTY = 0.08, 1.0, 30


@dataclass
class Kept:
    lane: Lane
    visits: list[list[Sample]] = field(default_factory=list)
    #: When its last blocks were taken.
    seen: float = 0.0

    @property
    def undisturbed(self) -> list[list[float]]:
        """The values of each visit that other programs, or other guests of the same host, left
        alone. A visit that they held up for the most part says nothing about the machine's speed:
        what they did to the cases themselves is known from the blocks of those."""
        disturbed = iter(waited_long([block for visit in self.visits for block in visit]))
        kept = [
            [b.value for b in visit if not next(disturbed) and not b.contended]
            for visit in self.visits
        ]
        return [values for values in kept if 2 * len(values) > BLOCKS]


@dataclass
class DriftControl:
    """The kept lanes of one run, for one metric."""

    metric: str = "time"
    memory_free: int = 0
    clock: Callable[[], float] = time.monotonic
    #: Waits until the children of the last case are gone: while they exit, a block of a millisecond
    #: takes five.
    settle: Callable[[], None] = lambda: None
    kept: list[Kept] = field(default_factory=list)
    _cost: float = 0.0
    _last: float = 0.0

    def adopt(self, sampled: Sampled) -> None:
        """Keep one lane of a case that has just been sampled, if it suits; its samples stay."""
        case, lanes = sampled.case, sampled.open_lanes
        if (
            len(self.kept) >= MOST_CASES
            or sampled.ended is not None
            or not lanes
            or case.device != "cpu"
            or any(kept.lane.case.name == case.name for kept in self.kept)
        ):
            return
        lane = lanes[0]
        too_large = self.memory_free and lane.own_bytes > self.memory_free * MEMORY_SHARE
        if lane.n * lane.per_call > LONGEST_BLOCK or too_large:
            return
        lane.adopted, lane.patience = True, PATIENCE
        blocks = lane.samples.get(self.metric, [])[-BLOCKS:]
        self.kept.append(Kept(lane, [blocks] if len(blocks) == BLOCKS else [], self.clock()))

    def visit(self) -> None:
        """Measure them again, but those of which that was just done."""
        now = self.clock()
        made = max((len(kept.visits) for kept in self.kept), default=0)
        apart = APART * max(1.0, made / PLENTY)
        visited = [kept for kept in self.kept if now - kept.seen >= apart]
        if not visited or now - self._last < self._cost / TIME_SHARE:
            return
        self.settle()
        blocks: list[list[Sample]] = [[] for _ in visited]
        # In turns, as the blocks of a case are taken: what waking up on one core or the other does
        # to a block is noise, and no drift.
        for _ in range(BLOCKS):
            for kept, seen in zip(visited, blocks, strict=True):
                self._look(kept, seen)
        for kept, seen in zip(visited, blocks, strict=True):
            if len(seen) == BLOCKS:
                kept.visits.append(seen)
        self._last = self.clock()
        for kept in visited:
            kept.seen = self._last
        self._cost = self._last - now

    def _look(self, kept: Kept, seen: list[Sample]) -> None:
        if kept in self.kept:
            try:
                seen.append(kept.lane.look(self.metric))
            except (SessionEnded, WorkerError):
                self.kept.remove(kept)

    @property
    def drift(self) -> Prior | None:
        """Standard deviation from visit to visit; None when there were too few."""
        return drift_between([kept.undisturbed for kept in self.kept])

    def close(self) -> None:
        for kept in self.kept:
            kept.lane.close()


def widen_for_drift(result: Result, drift: Prior) -> Result:
    """The result, its interval holding other moments too. What the machine did is true of the
    whole run, so it is no warning of this case (`report.warnings.run_note`)."""
    if not result.ok or result.estimate is None or result.low is None or result.high is None:
        return result
    low, high = widen(result.estimate, result.low, result.high, drift)
    detail = {**result.detail, "drift": drift.sd, "drift_freedom": drift.freedom}
    return replace(result, low=low, high=high, detail=detail)
