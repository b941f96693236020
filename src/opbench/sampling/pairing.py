"""Samples a group whose members will be compared: many short-lived sets of children.

Blocks scatter, and so do children of identical code, and worker starts. So each worker start forks
a set of children (one per member, in random order), lets them take turns for a fraction of a
second, ends them and forks the next set: the sets tell how far each other can be trusted. It stops
when every ratio to the baseline is known well enough and none is in doubt: what looks neither the
same nor clearly different is worth the rest of its time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opbench.stats.pair import compare_samples
from opbench.stats.ratio import Ratio

if TYPE_CHECKING:
    from opbench.plan.policy import Adaptive
    from opbench.sampling.group import Group, Member

#: Turns that each child takes: the median of 25 blocks of 2 ms is known to about 0.5 % where blocks
#: scatter by 2 %, and taking them costs twice as much as forking and warming up the two children.
ROUNDS = 25
#: Where a ratio need not be known better than this, fewer turns will do, unless it is in doubt.
COARSE, COARSE_ROUNDS = 0.01, 15
#: Fewer would not be a median.
LEAST_ROUNDS = 3

#: Worker starts of a comparison within one environment, and between two (per side): there each
#: side brings the layout of its own starts, so more of them are needed.
STARTS = {"paired": 4, "interleaved": 6}
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


def sample_pairs(group: Group, policy: Adaptive) -> None:
    design = group.design
    group.open_all(0)
    if not group.fits(1):
        group.one_by_one(policy)
        return
    allowance = group.max_time * len(group.entries)
    starts = _affordable(group, STARTS[design], allowance)
    group.close()
    group.start_workers(starts)
    for made in range(MOST_SETS):
        for index in range(starts):
            _one_set(group, policy, index, allowance / starts, made)
        _consider(group, policy, starts, allowance, last=made + 1 == MOST_SETS)
        if all(member.done for member in group.members):
            return


def _affordable(group: Group, wanted: int, allowance: float) -> int:
    """Fewer starts where a call takes a second: the interval will say so."""
    turn = sum(lane.per_call for member in group.members for lane in member.lanes)
    if turn <= 0:
        return wanted
    return max(LEAST_STARTS, min(wanted, int(allowance / (turn * LEAST_CALLS))))


def _one_set(group: Group, policy: Adaptive, index: int, seconds: float, made: int) -> None:
    """One child per member, forked in random order, taking turns in random order."""
    group.open_all(index)
    lanes = [(member, lane) for member in group.members for lane in member.lanes]
    if not lanes:
        return
    turn = sum(lane.n * lane.per_call for _, lane in lanes)
    most = ROUNDS if policy.precision < COARSE or made >= LEAST_SETS else COARSE_ROUNDS
    # Where one turn alone takes what this start was to take, the starts are the repetition.
    least = LEAST_ROUNDS if turn <= seconds else 1
    rounds = max(least, min(most, int(seconds / turn) if turn > 0 else most))
    for _ in range(rounds):
        group.rng.shuffle(lanes)
        for member, lane in lanes:
            if member.ended is None:
                group.block(member, lane)
    group.close()


def _consider(group: Group, policy: Adaptive, starts: int, allowance: float, last: bool) -> None:
    """Whether the ratios are known well enough, or the time is spent."""
    spent = sum(member.spent for member in group.members)
    made = max(len(member.closed) for member in group.members) // starts
    # Another set of children of every start costs what the last ones did.
    out_of_time = spent + spent / max(1, made) > allowance
    ratios = [
        _ratio(group, member)
        for index, member in enumerate(group.members)
        if index != group.base and _can_be_known(group, member)
    ]
    known = all(is_known(found, policy.precision) for found in ratios)
    doubtful = any(in_doubt(found) for found in ratios)
    for member in group.members:
        now = member.estimate(group.layout)
        if now is not None and group.on_estimate is not None:
            group.on_estimate(member.case, now, member.spent)
        if known and not doubtful and made >= LEAST_SETS:
            member.done, member.stopped = True, "precise"
        elif out_of_time or last:
            member.done, member.stopped = True, "precise" if known else "time"


def _can_be_known(group: Group, member: Member) -> bool:
    return member.ended is None and group.members[group.base].ended is None


def _ratio(group: Group, member: Member) -> Ratio | None:
    base = group.members[group.base]
    return compare_samples(base.samples(), member.samples(), group.design, group.layout)


def is_known(found: Ratio | None, precision: float) -> bool:
    """No ratio is not a known ratio."""
    return found is not None and (found.high - found.low) / 2 / found.value <= precision


def in_doubt(found: Ratio | None) -> bool:
    return found is not None and CLEAR < found.p_value < HOPELESS
