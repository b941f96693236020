"""Metrics that are not sampled: each measured as a whole, in a child of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opbench.plan.groups import Slot
from opbench.result import Metric
from opbench.running.state import RunState
from opbench.sampling import outcome
from opbench.sampling.lane import Lane
from opbench.workers.session import SessionEnded


def measure_at_once(state: RunState, slots: Sequence[Slot], metric: Metric) -> None:
    """The metric of each slot. With several worker starts, the slots take turns in each of them,
    so that what drifts meanwhile meets all of them alike."""
    answers: dict[Slot, list[dict[str, Any]]] = {slot: [] for slot in slots}
    for start in range(metric.starts):
        for slot, found in list(answers.items()):
            try:
                found.append(_measured(state, slot, metric, start))
            except SessionEnded as ended:
                state.fail(slot, metric, ended)
                del answers[slot]
                continue
            if len(found) == metric.starts:
                place = state.place(slot)
                for result in outcome.exact_results(slot.case, found, metric, place):
                    state.keep(slot, result)


def _measured(state: RunState, slot: Slot, metric: Metric, start: int) -> dict[str, Any]:
    """In a fresh child, so that nothing is left over."""
    policy, case = state.request.policy, slot.case
    (worker,) = state.workers_of(slot, (start,))
    lane = Lane.fork(worker, case, policy, case.seed, state.memory_limit(case))
    try:
        return lane.session.measure(metric.name, {}, policy.timeout)
    finally:
        lane.close()
