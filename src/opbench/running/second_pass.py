"""What a run's budget still holds after the first pass goes to the noisiest cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opbench.plan.groups import WorkGroup
from opbench.plan.metrics import metrics
from opbench.plan.policy import Adaptive
from opbench.result import Metric
from opbench.sampling import outcome

if TYPE_CHECKING:
    from opbench.running.runner import Runner


def spend_what_is_left(runner: Runner) -> None:
    """More worker starts for the group with the widest interval, again and again."""
    policy = runner.request.policy
    if runner.budget is None or not isinstance(policy, Adaptive) or not runner.wide:
        return
    left = runner.budget.left
    if left <= 0:
        return
    sampled = [metrics()[name] for name in runner.request.metrics if metrics()[name].sampled]
    runner.listener.second_pass(sum(len(group.slots) for group in runner.wide), left)
    todo = [(group, metric) for group in runner.wide for metric in sampled]
    while todo and runner.budget.left > 0:
        todo.sort(key=lambda item: _width(runner, *item), reverse=True)
        group, metric = todo.pop(0)
        if _again(runner, group, metric, policy):
            todo.append((group, metric))


def _again(runner: Runner, planned: WorkGroup, metric: Metric, policy: Adaptive) -> bool:
    """New samples join the old ones; says whether the group is still wider than asked."""
    assert runner.budget is not None, "a second pass needs a budget"
    pairs = [(slot, runner.latest(slot, metric)) for slot in planned.slots]
    earlier = [(slot, result) for slot, result in pairs if result is not None and result.ok]
    if not earlier:
        return False
    slots = [slot for slot, _ in earlier]
    samples = [sample for _, result in earlier for sample in result.samples]
    group = runner.group(slots, metric, planned.base_of(slots))
    group.first_start = max(sample.start for sample in samples) + 1
    group.order = max(sample.order for sample in samples)
    group.allowance = runner.budget.left
    members = group.sample()
    group.close()
    wide = False
    for (slot, before), member in zip(earlier, members, strict=True):
        if member.ended is not None:
            continue
        joined = (*before.samples, *member.samples())
        starts = len({sample.start for sample in joined})
        detail = {**before.detail, "starts": starts, "second_pass": True}
        place = runner.places.of(slot.environment, before.group)
        result = outcome.from_samples(slot.case, metric, joined, detail, policy, place)
        runner.keep(slot, result, replacing=True)
        wide = wide or (result.half_width or 0.0) > policy.precision
    return wide


def _width(runner: Runner, planned: WorkGroup, metric: Metric) -> float:
    found = [runner.latest(slot, metric) for slot in planned.slots]
    return max((result.half_width or 0.0 for result in found if result is not None), default=0.0)
