"""Samples a group whose members will be compared: many short-lived sets of children.

What limits a comparison is not the length of a series but the number of children: two children of
identical code differ by 0.7 %, however long they run. So each worker start forks a set of children
(one per member, in random order), lets them take turns for a fraction of a second, ends them and
forks the next set. It stops when every ratio to the baseline is known well enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opbench.result import calm
from opbench.stats.ratio import ratio

if TYPE_CHECKING:
    from opbench.run.policy import Adaptive
    from opbench.run.sampling import Group, Member

#: Turns that each child takes. The median of 25 blocks of 2 ms is known to about 0.3 % where
#: blocks scatter by 1 %: less than what the next child will differ by.
ROUNDS = 25
#: Fewer would not be a median.
LEAST_ROUNDS = 3

#: Worker starts of a comparison within one environment, and between two (per side): there each
#: side brings the layout of its own starts, so more of them are needed.
STARTS = {"paired": 4, "interleaved": 6}
#: Fewer would leave the interval to what starts are known to do elsewhere.
LEAST_STARTS = 3
#: Sets of children per worker start, at most; beyond that the starts themselves decide.
MOST_SETS = 6
LEAST_SETS = 1


def sample_pairs(group: Group, policy: Adaptive) -> None:
    design = group.design
    starts = STARTS[design]
    group.open_all(0)
    if not group.fits(1):
        group.one_by_one(policy)
        return
    group.close()
    group.start_workers(starts)
    allowance = group.max_time * len(group.entries)
    for made in range(MOST_SETS):
        for index in range(starts):
            if index >= LEAST_STARTS and _spent(group) > allowance:
                break  # calls of a second each: fewer starts, and the interval says so
            _one_set(group, index, allowance / starts)
        _consider(group, policy, design, allowance, last=made + 1 == MOST_SETS)
        if all(member.done for member in group.members):
            return


def _one_set(group: Group, index: int, seconds: float) -> None:
    """One child per member, forked in random order, taking turns in random order."""
    group.open_all(index)
    lanes = [(member, lane) for member in group.members for lane in member.lanes]
    if not lanes:
        return
    turn = sum(lane.n * lane.per_call for _, lane in lanes)
    rounds = max(LEAST_ROUNDS, min(ROUNDS, int(seconds / turn) if turn > 0 else ROUNDS))
    for _ in range(rounds):
        group.rng.shuffle(lanes)
        for member, lane in lanes:
            if member.ended is None:
                group.block(member, lane)
    group.close()


def _consider(group: Group, policy: Adaptive, design: str, allowance: float, last: bool) -> None:
    """Whether the ratios are known well enough, or the time is spent."""
    spent = _spent(group)
    made = max(len(member.closed) for member in group.members) // STARTS[design]
    # Another set of children of every start costs what the last ones did.
    out_of_time = spent + spent / max(1, made) > allowance
    known = all(_is_known(group, member, design, policy.precision) for member in group.members)
    for member in group.members:
        now = member.estimate()
        if now is not None and group.on_estimate is not None:
            group.on_estimate(member.case, now, member.spent)
        if known and made >= LEAST_SETS:
            member.done, member.stopped = True, "precise"
        elif out_of_time or last:
            member.done, member.stopped = True, "time"


def _spent(group: Group) -> float:
    return sum(member.spent for member in group.members)


def _is_known(group: Group, member: Member, design: str, precision: float) -> bool:
    """Whether the ratio to the baseline is precise enough, or there is none to know."""
    base = group.members[group.base]
    if member is base or member.ended is not None or base.ended is not None:
        return True
    found = ratio(_placed(base), _placed(member), design)
    return found is not None and (found.high - found.low) / 2 / found.value <= precision


def _placed(member: Member) -> list[tuple[int, int, float]]:
    return [(s.start, s.session, s.value) for s in calm(member.samples())]
