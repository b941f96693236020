"""Sampled metrics of one group: its slots sampled together, their results kept."""

from __future__ import annotations

import os
from collections.abc import Sequence

from opbench.plan.groups import PlannedGroup, Slot
from opbench.plan.policy import Adaptive
from opbench.result import Metric
from opbench.running.state import RunState
from opbench.sampling import outcome
from opbench.sampling.design import estimate_of
from opbench.sampling.drift import DriftControl
from opbench.sampling.paired import LEAST_STARTS, STARTS, PairedDesign
from opbench.sampling.sampler import Sampled, Sampler
from opbench.stats.pair import compare_samples

#: Workers that start side by side have this many cores each.
CORES_PER_START = 2


def sampler_for(
    state: RunState,
    group: PlannedGroup,
    slots: Sequence[Slot],
    metric: Metric,
    seconds: float,
    first_start: int = 0,
) -> Sampler:
    """The given slots of a group, ready to be sampled together in so many seconds at most."""
    policy = state.request.policy
    kinds = {state.pool.kind(slot.case, slot.environment) for slot in slots}
    relation = "paired" if len(kinds) == 1 else "interleaved"
    design = {
        "seconds": min(policy.max_time * group.time_factor, seconds / len(slots)),
        "base": group.base_of(slots),
        "relation": relation,
        "first_start": first_start,
        "learnt": state.start_variances.learnt(metric.name, relation),
    }
    return Sampler(
        slots,
        policy,
        state.workers_of,
        design,
        metric=metric.name,
        memory_limit=state.memory_limit(slots[0].case),
        memory_free=state.memory_free,
        on_estimate=state.listener.estimated,
        rng=state.rng,
        cpus=state.pool.cpus or sorted(os.sched_getaffinity(0)),
    )


def sample(
    state: RunState,
    group: PlannedGroup,
    slots: Sequence[Slot],
    metric: Metric,
    control: DriftControl,
) -> None:
    budget = state.budget
    seconds = budget.share(state.pool.start_seconds) if budget is not None else float("inf")
    sampler = sampler_for(state, group, slots, metric, seconds)
    also = [other for other in state.metrics if other.measured_with == metric.name]
    sampler.also = tuple(other.name for other in also)
    _begin_starts(state, slots, sampler)
    members = sampler.sample()
    if metric.name == control.metric and isinstance(state.request.policy, Adaptive):
        for member in members:
            control.adopt(member)
    sampler.close()
    if budget is not None:
        budget.note(sum(member.spent for member in members))
        if expected := budget.overrun():
            state.listener.notice(
                f"the budget of {budget.seconds:.0f} s is too short: at the rate so far, with as "
                f"little as one worker start for each case, the run takes about {expected:.0f} s"
            )
    for member in members:
        found = estimate_of(member.samples)
        if found is not None and member.ended is None:
            state.start_variances.add(found, metric.name)
    _learn_from_pairs(state, metric, members, sampler.design.base)
    for member in members:
        _keep(state, group, member, metric, also)
    if any(member.stopped in ("time", "starts") for member in members):
        state.wide.append(group)


def _begin_starts(state: RunState, slots: Sequence[Slot], sampler: Sampler) -> None:
    """Where there is room, the workers that a comparison will want import at the same time as the
    first, which shows what a call costs: a framework with its compiler takes ten seconds."""
    first = sampler.design.first_start
    kinds = {state.pool.kind(slot.case, slot.environment) for slot in slots}
    room = len(kinds) * LEAST_STARTS * CORES_PER_START <= len(sampler.cpus)
    if room and isinstance(sampler.design, PairedDesign):
        for kind in kinds:
            state.begin(kind, range(first, first + LEAST_STARTS))


def _learn_from_pairs(
    state: RunState, metric: Metric, members: Sequence[Sampled], base: int
) -> None:
    for member in members:
        pair = members[base].samples, member.samples
        if member is members[base] or member.relation not in STARTS or not all(pair):
            continue
        found = compare_samples(*pair, member.relation)
        if found is not None and found.design == member.relation:
            state.start_variances.add(found, metric.name, member.relation)


def _keep(
    state: RunState,
    group: PlannedGroup,
    member: Sampled,
    metric: Metric,
    also: Sequence[Metric],
) -> None:
    slot, policy = member.slot, state.request.policy
    place = state.place(slot, group.id if member.relation else "")
    result = outcome.sampled_result(member, metric, policy, place)
    state.keep(slot, result, replacing=state.has(slot, metric))
    for other in also:
        result = outcome.also_sampled_result(member, other, policy, place)
        state.keep(slot, result, replacing=state.has(slot, other))
    ended = member.ended
    if ended is not None and ended.in_setup and ended.outcome == "unsupported":
        # No other metric would get any further.
        state.refuse(slot, ended)
        state.keep_refusal(slot)
