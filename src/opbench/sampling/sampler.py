"""Samples one group of slots: opens lanes, runs their blocks, and asks the design what comes next.

A group is a set of cases that will be compared with each other, often a single case. Each case gets
a lane in each of several worker starts. Only the lane whose turn it is runs; the others are
stopped.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from opbench.case import Case
from opbench.plan.groups import Slot
from opbench.plan.policy import Fixed, Policy
from opbench.result import Sample
from opbench.sampling.adaptive import AdaptiveDesign
from opbench.sampling.design import Child, Design, Turn
from opbench.sampling.fixed import FixedDesign
from opbench.sampling.lane import Lane
from opbench.sampling.paired import PairedDesign
from opbench.stats.estimate import Estimate
from opbench.stats.start_variance import NOTHING_LEARNT, Learnt
from opbench.workers.process import Worker
from opbench.workers.session import SessionEnded

#: Lanes live together only while what they hold fits in this share of the free memory.
MEMORY_SHARE = 0.5
#: Warm-up of one lane takes no more than this share of the time of its case.
WARMUP_SHARE = 0.1
#: Nor more than so many calls, after the first, where one takes as long as a block.
WARMUP_CALLS = 3
#: Waiting for cores that nobody shares takes no more than this share of the time of a case.
WAIT_SHARE = 0.5
#: A block begins with untimed calls, which fill caches and wake threads. For blocks of so many
#: seconds what one call does is a hundredth (0.8 % of a product of 71 ms, 1.4 % of JAX's sort of
#: 207 ms), and they begin at once. In a run of twenty calls, one more would be a twentieth. Where
#: blocks are compared with each other, a hundredth counts, and all begin alike.
LONG_BLOCK, LONG_RUN = 0.05, 0.2
#: A run of a fixed design begins with a fresh layer, and its second call still takes longer than
#: those that follow: as many untimed calls as torch's `Timer.timeit` takes for so short a run.
UNTIMED_OF_RUN = 2


#: How many untimed calls precede a block, at the least, as a share of those it times. The first
#: milliseconds after another child ran take a few per cent longer, whatever is called. In a ratio
#: that cancels, and more turns are worth more.
REFILL_ALONE, REFILL_OF_PAIRS = 1.0, 0.0


@dataclass
class Sampled:
    """What sampling one slot gives: its samples, or how it ended."""

    slot: Slot
    #: What earlier cases showed of the scatter between worker starts (`stats.start_variance`).
    learnt: Learnt = NOTHING_LEARNT
    #: All its lanes, those that have ended too.
    lanes: list[Lane] = field(default_factory=list)
    ended: SessionEnded | None = None
    samples: tuple[Sample, ...] = ()
    #: Why sampling stopped: see `Design`.
    stopped: str = ""
    #: How it relates to the others of its group, in the terms of `stats.ratio`; empty if alone.
    relation: str = ""

    @property
    def case(self) -> Case:
        return self.slot.case

    @property
    def spent(self) -> float:
        """Seconds given to this slot, set-up included."""
        return sum(lane.spent for lane in self.lanes)

    @property
    def open_lanes(self) -> list[Lane]:
        return [lane for lane in self.lanes if lane.open]

    def lane_in(self, start: int) -> Lane | None:
        return next((lane for lane in self.open_lanes if lane.start == start), None)

    def close(self) -> None:
        for lane in self.open_lanes:
            lane.close()


@dataclass
class Sampler:
    slots: Sequence[Slot]
    policy: Policy
    #: Live workers of a slot for the given start numbers.
    workers: Callable[[Slot, Sequence[int]], list[Worker]]
    #: What the design is given: see `Design`.
    options: Mapping[str, Any] = field(default_factory=dict)
    metric: str = "time"
    #: Other metrics, measured in the same turns.
    also: tuple[str, ...] = ()
    #: Number of the last block before these.
    order: int = 0
    memory_limit: int = 0
    memory_free: int = 0
    on_estimate: Callable[[Case, Estimate, float], None] | None = None
    rng: random.Random = field(default_factory=random.Random)
    #: CPUs that children may run on.
    cpus: Sequence[int] = ()

    def __post_init__(self) -> None:
        #: By worker start, where the children of this set run.
        self._cpu: dict[int, int] = {}
        #: Seconds that blocks may still wait for a core that nobody shares.
        self._patience = 0.0
        kind: Any = PairedDesign if len(self.slots) > 1 else AdaptiveDesign
        if isinstance(self.policy, Fixed):
            kind = FixedDesign
        self.design: Design = kind(
            self.policy, len(self.slots), report=self._report, **self.options
        )
        if not isinstance(self.policy, Fixed):
            self._patience = WAIT_SHARE * self.design.max_time * len(self.slots)
        self.members = [Sampled(slot, self.design.learnt) for slot in self.slots]

    def _report(self, case: int, estimate: Estimate, spent: float) -> None:
        if self.on_estimate is not None:
            self.on_estimate(self.slots[case].case, estimate, spent)

    def sample(self) -> list[Sampled]:
        """All slots, in the order given. The last lanes stay open until `close`."""
        design = self.design
        try:
            self._take(design.next())
            design.room(self._room())
            while not design.finished():
                self._take(design.next())
            for case, member in enumerate(self.members):
                member.samples, member.stopped = design.result(case), design.stopped
            if isinstance(design, PairedDesign) and design.too_large:
                self.close()
                self._one_by_one()
        except BaseException:
            self.close()
            raise
        for member in self.members:
            member.relation = design.relation if len(self.slots) > 1 else ""
        return self.members

    def _one_by_one(self) -> None:
        """Too large to live together: each runs alone."""
        for index, member in enumerate(self.members):
            if member.ended is None:
                alone = replace(self, slots=[member.slot])
                (self.members[index],) = alone.sample()
                alone.close()
                self.order = alone.order

    def close(self) -> None:
        for member in self.members:
            member.close()

    def _room(self) -> int:
        """How many lanes of every slot can live side by side, judged by one of each."""
        lanes = [lane for member in self.members for lane in member.open_lanes[:1]]
        host = sum(lane.own_bytes for lane in lanes)
        device = sum(lane.device_bytes for lane in lanes)
        device_total = max((lane.device_total for lane in lanes), default=0)
        room = sys.maxsize
        for held, free in ((host, self.memory_free), (device, device_total)):
            if held and free:
                room = min(room, int(free * MEMORY_SHARE / held))
        return room

    # -- one turn --------------------------------------------------------------------------

    def _take(self, turn: Turn) -> None:
        if turn.fresh or turn.alone:
            self.close()
            self._cpu.clear()
        lanes = [(case, start) for start in turn.starts for case in self._shuffled()]
        if any(self.members[case].lane_in(start) is None for case, start in lanes):
            # Side by side, because importing a framework takes a second or two.
            for case in self.design.active:
                self.workers(self.slots[case], sorted({*self.design.starts, *turn.starts}))
        if turn.run is None:
            self._open_all(lanes, turn)
            self.rng.shuffle(lanes)
        if turn.calls == 0:
            return
        for case, start in lanes:
            self._try(self._block, case, start, turn)
            if turn.alone:
                self.members[case].close()

    def _shuffled(self) -> list[int]:
        """The cases that have not failed; who is forked first must not always be the same."""
        cases = sorted(self.design.active)
        self.rng.shuffle(cases)
        return cases

    def _try(
        self, step: Callable[[int, int, Turn], object], case: int, start: int, turn: Turn
    ) -> None:
        """One failing child decides: a case that fails sometimes is a case that fails."""
        member = self.members[case]
        if member.ended is not None:
            return
        try:
            step(case, start, turn)
        except SessionEnded as ended:
            member.ended = ended
            member.close()
            self.design.dropped(case)

    def _open_all(self, lanes: Sequence[tuple[int, int]], turn: Turn) -> None:
        """Setting up is not timed, so children do it side by side; then each warms up alone, unless
        all that is left of that is a first call, which compiles."""
        missing = [at for at in lanes if self.members[at[0]].lane_in(at[1]) is None]
        size = self._side_by_side()
        for first in range(0, len(missing), size):
            together = missing[first : first + size]
            for step in (self._fork, self._finish_setup):
                for case, start in together:
                    self._try(step, case, start, turn)
            if size > 1 and all(self._warms_up_once(case) for case, _ in together):
                for case, start in together:
                    self._try(self._begin_warm_up, case, start, turn)
            for case, start in together:
                self._try(self._warm_up, case, start, turn)

    def _warms_up_once(self, case: int) -> bool:
        """Whether the call is known to be long: a block of a comparison begins with another one,
        and that is warm-up enough."""
        lanes = self.members[case].lanes
        return len(self.slots) > 1 and len(lanes) > 1 and lanes[0].per_call >= LONG_BLOCK

    def _side_by_side(self) -> int:
        """How many children may set up at once: one for each CPU, where no set-up can disturb
        another."""
        if not all(slot.case.independent for slot in self.slots):
            return 1
        return max(1, len(self.cpus) // max(slot.case.threads for slot in self.slots))

    def _fork(self, case: int, start: int, turn: Turn) -> Lane:
        member = self.members[case]
        worker = self.workers(member.slot, [start])[0]
        seed = member.case.seed + (turn.run or 0)
        lane = Lane.begin(worker, member.case, self.policy, seed, self.memory_limit)
        member.lanes.append(lane)
        lane.cpu = self._cpu_of(start)
        compared = len(self.slots) > 1
        if isinstance(self.policy, Fixed):
            lane.untimed, lane.long_block, lane.young = UNTIMED_OF_RUN, LONG_RUN, True
        elif not compared:
            lane.long_block = LONG_BLOCK
        # The calls of a fixed run are counted, and on a GPU metrics wake their children themselves.
        if lane.case.device == "cpu" and not isinstance(self.policy, Fixed):
            lane.refill = REFILL_OF_PAIRS if compared else REFILL_ALONE
        return lane

    def _finish_setup(self, case: int, start: int, _turn: Turn) -> None:
        self._lane(case, start).finish_setup()

    def _begin_warm_up(self, case: int, start: int, _turn: Turn) -> None:
        self._lane(case, start).begin_warm_up(0.0)

    def _warm_up(self, case: int, start: int, _turn: Turn) -> None:
        lane, first = self._lane(case, start), self.members[case].lanes[0]
        seconds = min(self.policy.warmup_seconds, self.design.max_time * WARMUP_SHARE)
        if first.per_call >= self.policy.block_seconds:
            # The first child showed what a call takes; this one is to find its caches and pages.
            seconds = min(seconds, WARMUP_CALLS * first.per_call)
        once = self._warms_up_once(case)
        if lane.warming_up:
            lane.finish_warm_up()
            lane.warmup["first"] = None  # it took longer than alone
        else:
            lane.warm_up(0.0 if once else seconds)
        lane.per_call = first.per_call if once else lane.per_call
        self._opened(case, lane)

    def _opened(self, case: int, lane: Lane) -> None:
        self.design.opened(Child(lane.start, case, lane.spent, lane.n, lane.per_call))

    def _lane(self, case: int, start: int) -> Lane:
        lane = self.members[case].lane_in(start)
        assert lane is not None
        return lane

    def _cpu_of(self, start: int) -> int | None:
        """The CPU for all sides of a comparison in one start, drawn anew for each set of children:
        what one CPU does, it does to all of them. Code that uses several is left alone."""
        compared = len(self.slots) > 1 and len(self.cpus) > 1
        if not compared or any(s.case.threads > 1 or s.case.device != "cpu" for s in self.slots):
            return None
        return self._cpu.setdefault(start, self.rng.choice(self.cpus))

    def _block(self, case: int, start: int, turn: Turn) -> None:
        lane = self.members[case].lane_in(start)
        again = lane is not None and turn.run is not None
        if lane is None:  # of a fixed run, which is not warmed up
            lane = self._fork(case, start, turn)
            lane.finish_setup()
            self._opened(case, lane)
        before = lane.spent
        if again:
            lane.prepare_again(lane.case.seed + (turn.run or 0))
        self.order += 1
        lane.patience, waited = self._patience, lane.waited
        sample = lane.block(self.metric, self.order, turn.calls)
        for metric in self.also:
            lane.try_block(metric, self.order, turn.calls)
        self._patience = max(0.0, self._patience + waited - lane.waited)
        self.design.add(sample, lane.spent - before, case)
