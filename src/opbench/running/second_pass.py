"""What a run's budget still holds after the first pass goes to the noisiest cases."""

from __future__ import annotations

from opbench.plan.groups import PlannedGroup
from opbench.plan.policy import Adaptive
from opbench.result import Metric
from opbench.running.sampled import sampler_for
from opbench.running.state import RunState
from opbench.sampling import outcome
from opbench.sampling.sampler import Sampled
from opbench.workers.process import WorkerError, again_if_worker_dies


def spend_what_is_left(state: RunState) -> None:
    """More worker starts for the group with the widest interval, again and again."""
    policy, budget = state.request.policy, state.budget
    if budget is None or not isinstance(policy, Adaptive) or not state.wide or budget.left <= 0:
        return
    state.listener.second_pass(sum(len(group.slots) for group in state.wide), budget.left)
    todo = [(group, metric) for group in state.wide for metric in state.metrics if metric.sampled]
    while todo and budget.left > 0:
        todo.sort(key=lambda item: _width(state, *item), reverse=True)
        group, metric = todo.pop(0)
        if _again(state, group, metric, policy, budget.left):
            todo.append((group, metric))


def _again(
    state: RunState, group: PlannedGroup, metric: Metric, policy: Adaptive, seconds: float
) -> bool:
    """New samples join the old ones; says whether the group is still wider than asked."""
    results = [state.latest(slot, metric) for slot in group.slots]
    earlier = {
        slot: result
        for slot, result in zip(group.slots, results, strict=True)
        if result is not None and result.ok
    }
    if not earlier:
        return False
    samples = [sample for result in earlier.values() for sample in result.samples]
    next_start = max(sample.start for sample in samples) + 1
    last_order = max(sample.order for sample in samples)

    def more() -> list[Sampled]:
        sampler = sampler_for(state, group, list(earlier), metric, seconds, next_start)
        sampler.order = last_order
        members = sampler.sample()
        sampler.close()
        return members

    try:
        members = again_if_worker_dies(more)
    except WorkerError:
        return False  # what the first pass found stands
    wide = False
    for member in members:
        if member.ended is not None:
            continue
        before = earlier[member.slot]
        joined = (*before.samples, *member.samples)
        starts = len({sample.start for sample in joined})
        detail = {**before.detail, "starts": starts, "second_pass": True}
        ids = outcome.start_ids(member.lanes).get("start_ids", {})
        if ids:
            detail["start_ids"] = {**before.detail.get("start_ids", {}), **ids}
        place = state.place(member.slot, before.group)
        result = outcome.from_samples(member.case, metric, joined, detail, policy, place)
        state.keep(member.slot, result, replacing=True)
        wide = wide or (result.half_width or 0.0) > policy.precision
    return wide


def _width(state: RunState, group: PlannedGroup, metric: Metric) -> float:
    found = [state.latest(slot, metric) for slot in group.slots]
    return max((result.half_width or 0.0 for result in found if result is not None), default=0.0)
