"""Samples one group of cases: all of its lanes alive at once, their blocks interleaved at random.

A group is a set of cases that will be compared with each other, often a single case. Each case
gets a lane in each of several worker starts. Only the lane whose turn it is runs; the others are
stopped. A case leaves the dance when its interval is narrow enough or its time is spent.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from opbench.case import Case
from opbench.plan.policy import Adaptive, Fixed, Policy
from opbench.result import Sample
from opbench.sampling.lane import Lane
from opbench.sampling.pairing import sample_pairs
from opbench.stats.contention import undisturbed
from opbench.stats.estimate import DEFAULT_START_SD, Estimate, estimate, starts_for
from opbench.workers.process import Worker
from opbench.workers.session import SessionEnded

#: Lanes live together only while what they hold fits in this share of the free memory.
MEMORY_SHARE = 0.5

#: Blocks of one start need not be averaged further than this share of the asked precision: below
#: it the starts decide.
WITHIN_SHARE = 0.2
#: Nor further than this share of what starts scatter: it would add 8 % to the interval.
WITHIN_BETWEEN = 0.4

#: Worker starts that are added together when those there are do not suffice.
STARTS_AT_ONCE = max(1, min(4, len(os.sched_getaffinity(0))))

#: The least number of rounds is finished beyond the time of a case when that adds no more than this
#: share of what setting up has cost;
FINISH_SHARE = 0.5
#: and so many rounds when that costs no more than setting up did: one block alone says nothing.
FEW_ROUNDS = 3


@dataclass(frozen=True)
class Entry:
    """A case and where its children come from: the same case may enter once per environment."""

    case: Case
    #: Live workers for the given start numbers.
    workers: Callable[[Sequence[int]], list[Worker]]
    #: Entries of one kind are forked from the same workers.
    kind: Hashable = None


@dataclass
class Member:
    """One entry of a group while it is being sampled."""

    entry: Entry
    lanes: list[Lane] = field(default_factory=list)
    closed: list[Lane] = field(default_factory=list)
    ended: SessionEnded | None = None
    done: bool = False
    #: Why sampling stopped: `precise`, `time`, `runs`.
    stopped: str = ""
    #: Seconds given to this case in this call.
    spent_before: float = 0.0

    @property
    def case(self) -> Case:
        return self.entry.case

    @property
    def all_lanes(self) -> list[Lane]:
        return self.closed + self.lanes

    @property
    def spent(self) -> float:
        return self.spent_before + sum(lane.spent for lane in self.all_lanes)

    def samples(self) -> list[Sample]:
        return [sample for lane in self.all_lanes for sample in lane.marked_samples()]

    def estimate(self, layout: float = DEFAULT_START_SD) -> Estimate | None:
        return estimate_of(self.samples(), layout)

    def close(self) -> None:
        for lane in self.lanes:
            lane.session.close()
        self.closed += self.lanes
        self.lanes = []


def estimate_of(samples: Sequence[Sample], layout: float = DEFAULT_START_SD) -> Estimate | None:
    (kept,) = undisturbed(samples)
    placed = [(sample.start, sample.session, sample.value) for sample in kept]
    return estimate(placed, start_sd=layout)


@dataclass
class Group:
    """Samples the given cases; afterwards each member holds its samples or how it ended."""

    entries: Sequence[Entry]
    policy: Policy
    metric: str = "time"
    seed: int = 0
    memory_limit: int = 0
    memory_free: int = 0
    #: Seconds for the whole group, when a budget of the run leaves less than the policy allows.
    allowance: float | None = None
    #: Factor on the policy's time per case.
    patience: float = 1.0
    first_start: int = 0
    on_estimate: Callable[[Case, Estimate, float], None] | None = None
    rng: random.Random = field(default_factory=random.Random)

    #: Index of the entry that the others are compared with.
    base: int = 0
    #: What identical code scatters between worker starts here (`stats.start_variance`).
    layout: float = DEFAULT_START_SD
    paired: bool = True
    order: int = 0
    #: Metrics taken beside, in the same children.
    beside: tuple[str, ...] = ()
    members: list[Member] = field(default_factory=list)

    def sample(self) -> list[Member]:
        self.members = [Member(entry) for entry in self.entries]
        try:
            if isinstance(self.policy, Fixed):
                self._fixed(self.policy)
            elif isinstance(self.policy, Adaptive) and len(self.entries) > 1:
                sample_pairs(self, self.policy)
            elif isinstance(self.policy, Adaptive):
                self._adaptive(self.policy)
        except BaseException:
            self.close()
            raise
        return self.members

    def close(self) -> None:
        for member in self.members:
            member.close()

    @property
    def design(self) -> str:
        """How the members relate, in the terms of `stats.ratio`."""
        if not self.paired:
            return "separate"
        same = len({entry.kind for entry in self.entries}) == 1
        return "paired" if same else "interleaved"

    @property
    def max_time(self) -> float:
        limit = self.policy.max_time * self.patience
        if self.allowance is None:
            return limit
        return min(limit, self.allowance / max(1, len(self.entries)))

    # -- opening lanes ---------------------------------------------------------------------

    def _open(self, member: Member, index: int, run: int | None = None) -> Lane | None:
        """A new lane in the member's worker start: warmed up, or with the seed of a fixed run."""
        if member.ended is not None:
            return None
        worker = member.entry.workers([self.first_start + index])[0]
        seed = self.seed + member.case.seed + (run or 0)
        try:
            lane = Lane.open(worker, member.case, self.policy, seed, self.memory_limit)
            member.lanes.append(lane)
            if run is None:
                lane.warm_up(min(self.policy.warmup_seconds, self.max_time / 10))
        except SessionEnded as ended:
            self._end(member, ended)
            return None
        return lane

    def _end(self, member: Member, ended: SessionEnded) -> None:
        """One failing child decides: a case that fails sometimes is a case that fails."""
        member.ended = ended
        member.done = True
        member.close()

    def shuffled(self) -> list[Member]:
        members = [member for member in self.members if not member.done]
        self.rng.shuffle(members)  # who is forked first must not always be the same
        return members

    def fits(self, starts: int) -> bool:
        """Whether `starts` lanes of every member can live side by side."""
        lanes = [lane for member in self.members for lane in member.lanes[:1]]
        held = sum(lane.own_bytes for lane in lanes) * starts
        on_device = sum(lane.device_bytes for lane in lanes) * starts
        device = max((lane.device_total for lane in lanes), default=0)
        return (not self.memory_free or held <= self.memory_free * MEMORY_SHARE) and (
            not device or on_device <= device * MEMORY_SHARE
        )

    # -- the adaptive design ---------------------------------------------------------------

    def _adaptive(self, policy: Adaptive) -> None:
        needed = starts_for(policy.precision, start_sd=self.layout, most=policy.max_starts)
        wanted = min(max(policy.starts, needed), policy.max_starts)
        self.open_all(0)
        if not self.fits(1):
            self.one_by_one(policy, wanted)
            return
        affordable = self._affordable(wanted)
        if not self.fits(affordable):
            self._in_turns(policy, affordable)
            return
        self.start_workers(affordable)
        for index in range(1, affordable):
            self.open_all(index)
        self._rounds(policy)
        opened = affordable
        while opened < policy.max_starts and self._worth_more_starts(policy):
            # As many at a time as can import side by side.
            more = range(opened, min(opened + STARTS_AT_ONCE, policy.max_starts))
            self.start_workers(more.stop)
            for index in more:
                self.open_all(index)
            opened = more.stop
            self._rounds(policy)

    def open_all(self, index: int) -> None:
        for member in self.shuffled():
            self._open(member, index)

    def start_workers(self, starts: int) -> None:
        """Side by side, because importing a framework takes a second or two."""
        for entry in self.entries:
            entry.workers(range(self.first_start, self.first_start + starts))

    def _affordable(self, wanted: int) -> int:
        """How many starts fit the time of the slowest member, judged by its first lane."""
        costs = [member.spent + member.lanes[0].per_call for member in self.members if member.lanes]
        if not costs:
            return 1
        return max(1, min(wanted, int(self.max_time / max(costs))))

    def _in_turns(self, policy: Adaptive, starts: int) -> None:
        """The lanes of one start live together, but one start after the other."""
        for index in range(starts):
            if index:
                self.open_all(index)
            self._rounds(policy, share=(index + 1) / starts)
            for member in self.members:
                member.close()
                if member.ended is None and index + 1 < starts:
                    member.done = False

    def one_by_one(self, policy: Adaptive, starts: int = 3) -> None:
        """Too large to live together: each case alone, and the result says unpaired."""
        self.paired = len(self.entries) == 1
        members = self.members
        for member in members:
            member.close()
        for member in members:
            if member.ended is not None:
                continue
            self.members = [member]
            for index in range(starts):
                if member.spent + (member.spent / index if index else 0) > self.max_time and index:
                    break
                member.done = False
                self._open(member, index)
                self._rounds(policy, share=(index + 1) / starts)
                member.close()
        self.members = members

    def _rounds(self, policy: Adaptive, share: float = 1.0) -> None:
        """Blocks in random order, round after round, until every member is done."""
        rounds = 0
        before = {id(member): member.spent for member in self.members}
        while True:
            active = [m for m in self.members if m.ended is None and not m.done and m.lanes]
            if not active:
                return
            lanes = [(member, lane) for member in active for lane in member.lanes]
            # Lanes that joined later first catch up; the others have been heard.
            fresh = [pair for pair in lanes if len(pair[1].samples) < policy.min_rounds]
            lanes = fresh or lanes
            self.rng.shuffle(lanes)
            for member, lane in lanes:
                if member.ended is None:
                    self.block(member, lane)
            rounds += 1
            for member in active:
                if member.ended is None:
                    set_up = before[id(member)]
                    each = (member.spent - set_up) / rounds
                    enough = (policy.min_rounds - rounds) * each <= set_up * FINISH_SHARE
                    few = rounds < FEW_ROUNDS and (FEW_ROUNDS - rounds) * each <= set_up
                    self._consider(member, policy, rounds, share, nearly_free=enough or few)

    def block(self, member: Member, lane: Lane, n: int | None = None) -> None:
        self.order += 1
        try:
            lane.block(self.metric, self.order, n)
            for metric in self.beside:
                lane.block_beside(metric, self.order, n)
        except SessionEnded as ended:
            self._end(member, ended)

    def _consider(
        self, member: Member, policy: Adaptive, rounds: int, share: float, nearly_free: bool
    ) -> None:
        late = member.spent >= self.max_time * share
        # Where setting up took the time (a GPU's context, a compiler), a few more blocks are
        # nearly free, and one block alone says nothing.
        if rounds < policy.min_rounds and (not late or nearly_free):
            return
        now = member.estimate(self.layout)
        if now is None:
            return
        if self.on_estimate is not None:
            self.on_estimate(member.case, now, member.spent)
        if now.half_width <= policy.precision:
            member.done, member.stopped = True, "precise"
        elif late:
            member.done, member.stopped = True, "time"
        elif rounds >= policy.min_rounds and now.within <= max(
            policy.precision * WITHIN_SHARE, now.between * WITHIN_BETWEEN
        ):
            # More blocks of these starts would not help; more starts might.
            member.done, member.stopped = True, "starts"

    def _worth_more_starts(self, policy: Adaptive) -> bool:
        again = False
        for member in self.members:
            if member.ended is None and member.stopped == "starts":
                each = member.spent / max(1, len(member.all_lanes))
                if member.spent + each <= self.max_time:
                    member.done = False
                    again = True
                else:
                    member.stopped = "time"
        return again

    # -- the fixed design ------------------------------------------------------------------

    def _fixed(self, policy: Fixed) -> None:
        starts = min(policy.starts, policy.num_runs)
        self.start_workers(starts)
        keep = True
        for run in range(policy.num_runs):
            for member in self.shuffled():
                lane = self._lane_for_run(member, run % starts, run)
                if lane is not None:
                    self.block(member, lane, policy.num_repeats)
                if not keep:
                    member.close()
                self._show(member, every=5, run=run)
            if run == 0 and not self.fits(starts):
                # What one run holds does not fit beside the others: a fresh child for each run.
                keep = self.paired = False
                for member in self.members:
                    member.close()
        for member in self.members:
            member.done, member.stopped = True, member.stopped or "runs"

    def _lane_for_run(self, member: Member, index: int, run: int) -> Lane | None:
        for lane in member.lanes:
            if lane.start == self.first_start + index:
                try:
                    lane.prepare_again(self.seed + member.case.seed + run)
                except SessionEnded as ended:
                    self._end(member, ended)
                    return None
                return lane
        return self._open(member, index, run)

    def _show(self, member: Member, every: int, run: int) -> None:
        if self.on_estimate is not None and run % every == every - 1:
            now = member.estimate(self.layout)
            if now is not None:
                self.on_estimate(member.case, now, member.spent)


def detail_of(member: Member, group: Group, metric: str = "") -> dict[str, Any]:
    """What a reader may want to know about how the samples came about."""
    lanes, metric = member.all_lanes, metric or group.metric
    starts = sorted({lane.start for lane in lanes})
    seen = [each for lane in lanes for each in lane.seen if each["metric"] == metric]
    return {
        **({"seen": seen} if seen else {}),
        "way": member.case.way,
        "stopped": member.stopped,
        "starts": len(starts),
        "sessions": len(lanes),
        "design": group.design if len(group.entries) > 1 else "",
        "calls_per_block": [lane.n for lane in lanes],
        "first_call": [lane.warmup.get("first") for lane in lanes],
        "layout": group.layout,
        "settled": all(lane.warmup.get("settled", True) for lane in lanes),
        "seconds": round(member.spent, 3),
    }
