"""Cases that stay alive after their turn, and are looked at again between the others.

They tell how much this machine's speed wanders while a run goes on, which no case can know from the
seconds it was measured in (`opbench.stats.drift`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from opbench.result import Result
from opbench.sampling.group import Member
from opbench.sampling.lane import Lane
from opbench.stats.drift import drift_between, widen
from opbench.workers.session import SessionEnded

#: Cases that are kept, each of another name: what slows one kind of work may spare another.
MOST_CASES = 4
#: Blocks of one visit to one of them: two halves, each with a median worth the name.
BLOCKS = 10
#: A block that takes longer would cost too much.
LONGEST_BLOCK = 0.03
#: A lane that holds more of the free memory would be in the way of others.
MEMORY_SHARE = 0.02
#: Visits take no more than this share of a run, and lie at least so many seconds apart.
TIME_SHARE, APART = 0.04, 3.0


@dataclass
class Kept:
    lane: Lane
    visits: list[list[float]] = field(default_factory=list)


@dataclass
class Control:
    """The kept lanes of one run, for one metric."""

    metric: str = "time"
    memory_free: int = 0
    clock: Callable[[], float] = time.monotonic
    kept: list[Kept] = field(default_factory=list)
    _cost: float = 0.0
    _last: float = 0.0

    def adopt(self, member: Member) -> None:
        """Keep one lane of a case that has just been sampled, if it suits; its samples stay."""
        case = member.case
        if (
            len(self.kept) >= MOST_CASES
            or member.ended is not None
            or not member.lanes
            or case.device != "cpu"
            or any(kept.lane.case.name == case.name for kept in self.kept)
        ):
            return
        lane = member.lanes[0]
        too_large = self.memory_free and lane.own_bytes > self.memory_free * MEMORY_SHARE
        if lane.n * lane.per_call > LONGEST_BLOCK or too_large:
            return
        member.lanes.remove(lane)
        member.closed.append(lane)
        values = [sample.value for sample in lane.samples[-BLOCKS:]]
        self.kept.append(Kept(lane, [values] if len(values) == BLOCKS else []))
        self._last = self.clock()

    def visit(self) -> None:
        """Look at all of them again, unless that was just done."""
        now = self.clock()
        if not self.kept or now - self._last < max(APART, self._cost / TIME_SHARE):
            return
        for kept in list(self.kept):
            try:
                blocks = [kept.lane.look(self.metric) for _ in range(BLOCKS)]
            except SessionEnded:
                self.kept.remove(kept)
                continue
            kept.visits.append(blocks)
        self._last = self.clock()
        self._cost = self._last - now

    @property
    def wandering(self) -> float | None:
        return drift_between([kept.visits for kept in self.kept])

    def close(self) -> None:
        for kept in self.kept:
            kept.lane.session.close()


def with_moment(result: Result, wandering: float, precision: float) -> Result:
    """The result, its interval holding other moments too; says so where that is what widens it."""
    if not result.ok or result.estimate is None or result.low is None or result.high is None:
        return result
    before = result.half_width or 0.0
    low, high = widen(result.estimate, result.low, result.high, wandering)
    made = replace(result, low=low, high=high, detail={**result.detail, "wandering": wandering})
    if before <= precision < (made.half_width or 0.0):
        made = made.with_warning(
            "wandering",
            f"±{made.half_width:.1%} where ±{precision:.1%} was asked, and reached in the seconds "
            f"it was measured in; but the same code changed by {wandering:.1%} from moment to "
            "moment during this run; compare side by side (--baseline, opbench ab)",
        )
    return made
