"""What a run will do: cases × metrics × environments, cut into groups measured together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from opbench.case import Case, Label, label_text
from opbench.envs.environments import Environment
from opbench.errors import UserError


@dataclass(frozen=True)
class Baseline:
    """`AXIS=VALUE`: every other value of the axis is compared with this one."""

    axis: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Baseline:
        axis, equals, value = text.partition("=")
        if not equals or not axis or not value:
            raise UserError(f"a baseline is written AXIS=VALUE, not '{text}'")
        return cls(axis, value)

    def among(self, cases: Iterable[Case]) -> bool:
        """Whether any of the cases is at this value of the axis."""
        return any(
            self.axis in case.axes and label_text(case.axes[self.axis]) == self.value
            for case in cases
        )


@dataclass(frozen=True)
class PlannedGroup:
    """Cases whose blocks are interleaved with each other, because they will be compared."""

    cases: tuple[Case, ...]
    #: For a comparison of environments: where each of the cases runs. Otherwise the whole group
    #: runs in each environment of the request.
    environments: tuple[Environment, ...] = ()
    #: Index of the case that the others are compared with.
    base: int = 0
    #: How many times the usual time per case these may take: a whole step takes longer than a call.
    patience: float = 1.0

    @property
    def id(self) -> str:
        return self.cases[0].id


@dataclass(frozen=True)
class Slot:
    """One case in one environment: what has one result per metric."""

    case: Case
    environment: Environment


@dataclass(frozen=True)
class WorkGroup:
    """A planned group with its places: what is measured together, at one moment."""

    id: str
    slots: tuple[Slot, ...]
    base: Slot
    patience: float = 1.0

    def base_of(self, slots: Sequence[Slot]) -> int:
        """Index of the baseline among those slots; the first where it is not there."""
        return slots.index(self.base) if self.base in slots else 0


def work(
    planned: Iterable[PlannedGroup],
    environments: Iterable[Environment],
    homes: Mapping[str, Environment] | None = None,
) -> list[WorkGroup]:
    """Everything to do, environment by environment.

    Frameworks with a home (`opbench.envs.framework_envs`) run there instead of in the current one.
    """
    planned, environments, found = list(planned), list(environments), []
    placed: set[tuple[Slot, ...]] = set()

    def place(case: Case, environment: Environment) -> Environment:
        current = environment.name == "current"
        return (homes or {}).get(case.framework, environment) if current else environment

    for group in planned:
        if group.environments:
            slots = tuple(map(Slot, group.cases, group.environments))
            found.append(WorkGroup(group.id, slots, slots[group.base], group.patience))
    for environment in environments:
        for group in planned:
            if not group.environments:
                slots = tuple(Slot(case, place(case, environment)) for case in group.cases)
                if slots in placed:
                    continue
                placed.add(slots)
                # The same group in two environments is measured twice, not interleaved.
                where = f" in {environment.name}" if len(environments) > 1 else ""
                found.append(WorkGroup(group.id + where, slots, slots[group.base], group.patience))
    return found


def groups(cases: Iterable[Case], baseline: Baseline | None = None) -> list[PlannedGroup]:
    """One group per case; with a baseline, one per set of cases that differ only in its axis."""
    if baseline is None:
        return [PlannedGroup((case,)) for case in cases]
    cases = list(cases)
    values = {label_text(case.axes[baseline.axis]) for case in cases if baseline.axis in case.axes}
    if not values:
        axes = dict.fromkeys(axis for case in cases for axis in case.axes)
        raise UserError(
            f"no case here has the axis '{baseline.axis}' to compare along; "
            f"there is {', '.join(axes) or 'none'}"
        )
    if baseline.value not in values:
        raise UserError(
            f"no case has {baseline.axis}={baseline.value}; there is {', '.join(sorted(values))}"
        )
    sets: dict[tuple[object, ...], list[Case]] = {}
    for case in cases:
        sets.setdefault(_apart_from(case, baseline.axis), []).append(case)
    found = []
    for members in sets.values():
        base = baseline_of(members, baseline)
        found.append(PlannedGroup(tuple(members), base=members.index(base) if base else 0))
    return found


def baseline_of(group: Sequence[Case], baseline: Baseline) -> Case | None:
    for case in group:
        if baseline.axis in case.axes and label_text(case.axes[baseline.axis]) == baseline.value:
            return case
    return None


def _apart_from(case: Case, axis: str) -> tuple[object, ...]:
    rest: tuple[tuple[str, Label], ...] = tuple(pair for pair in case.labels if pair[0] != axis)
    return (case.suite, case.name, case.stage, rest)
