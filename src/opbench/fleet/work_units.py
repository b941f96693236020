"""Work units: what one node measures together, never split.

A timed unit holds one comparison group; groups whose outputs are compared with each other first
share a unit, because parity is checked where they run. Instruction counts do not disturb each
other: many cases share a unit of their own, because a start under Valgrind costs as much as ten
cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from opbench.plan.groups import PlannedGroup, Slot
from opbench.result import Metric

#: Cases whose instructions are counted by one agent.
COUNTED_TOGETHER = 20


@dataclass(frozen=True)
class WorkUnit:
    number: int
    groups: tuple[PlannedGroup, ...]
    metrics: tuple[str, ...]
    #: Whether it is timed, and so must be alone on its device; otherwise it counts instructions.
    timed: bool
    #: `cpu` or `gpu`.
    device: str

    @property
    def members(self) -> list[Slot]:
        """Every case of the unit, with its environment."""
        return [slot for group in self.groups for slot in group.slots]

    @property
    def name(self) -> str:
        return self.groups[0].id


def work_units(groups: Sequence[PlannedGroup], metrics: Sequence[Metric]) -> list[WorkUnit]:
    """The units of a plan, timed ones first."""
    timed = tuple(metric.name for metric in metrics if not metric.tool)
    counted = tuple(metric.name for metric in metrics if metric.tool)
    units: list[WorkUnit] = []
    if timed:
        for together in _parity_groups(groups):
            units.append(WorkUnit(len(units), together, timed, True, device_of(together)))
    if counted:
        for together in _chunks(groups):
            units.append(WorkUnit(len(units), together, counted, False, "cpu"))
    return units


def device_of(groups: Iterable[PlannedGroup]) -> str:
    devices = {slot.case.device.partition(":")[0] for group in groups for slot in group.slots}
    return "gpu" if devices - {"cpu"} else "cpu"


def _parity_groups(groups: Sequence[PlannedGroup]) -> Iterator[tuple[PlannedGroup, ...]]:
    """Groups that share a parity key, joined; in the order of the plan."""
    joined: list[list[PlannedGroup]] = []
    by_key: dict[str, list[PlannedGroup]] = {}
    for group in groups:
        keys = [slot.case.parity.key for slot in group.slots if slot.case.parity is not None]
        target = next((by_key[key] for key in keys if key in by_key), None)
        if target is None:
            target = []
            joined.append(target)
        target.append(group)
        for key in keys:
            other = by_key.setdefault(key, target)
            if other is not target:  # this group connects two that were separate so far
                target += [group for group in other if group not in target]
                joined = [members for members in joined if members is not other]
                by_key = {k: target if v is other else v for k, v in by_key.items()}
    return map(tuple, joined)


def _chunks(groups: Sequence[PlannedGroup]) -> Iterator[tuple[PlannedGroup, ...]]:
    chunk: list[PlannedGroup] = []
    for group in groups:
        chunk.append(group)
        if sum(len(member.slots) for member in chunk) >= COUNTED_TOGETHER:
            yield tuple(chunk)
            chunk = []
    if chunk:
        yield tuple(chunk)
