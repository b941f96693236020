"""What a run will do: cases × metrics × environments, cut into groups measured together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from opbench.case import Case, Label, label_text
from opbench.envs.environments import Environment
from opbench.errors import UserError, unknown

#: The axis of a baseline that compares benchmarks, not values of one.
NAME = "name"


@dataclass(frozen=True)
class Baseline:
    """`AXIS=VALUE`: every other value of the axis is compared with this one. `name=naive` compares
    benchmarks of different names; where several are bases of their groups, `name=naive,plain`."""

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
        return any(map(self.holds, cases))

    @property
    def values(self) -> tuple[str, ...]:
        # No name has a comma; the value of another axis may.
        return tuple(self.value.split(",")) if self.axis == NAME else (self.value,)

    def holds(self, case: Case) -> bool:
        return self.value_of(case) in self.values

    def value_of(self, case: Case) -> str | None:
        """The case's value of the axis; None where it has none."""
        if self.axis in case.axes:
            return label_text(case.axes[self.axis])
        return case.name if self.axis == NAME else None


@dataclass(frozen=True)
class Slot:
    """One case in one environment: what has one result per metric."""

    case: Case
    environment: Environment


@dataclass(frozen=True)
class PlannedGroup:
    """Cases whose blocks are interleaved with each other, because they will be compared."""

    cases: tuple[Case, ...]
    #: Where each of the cases runs; empty until `placed` says so, except where environments
    #: themselves are compared.
    environments: tuple[Environment, ...] = ()
    #: Index of the case that the others are compared with.
    base: int = 0
    #: Factor on the usual time per case: a whole step takes longer than a call.
    time_factor: float = 1.0
    #: The environment in words, where the same cases are measured in several.
    where: str = ""

    @property
    def id(self) -> str:
        return self.cases[0].id + self.where

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(map(Slot, self.cases, self.environments))

    def base_of(self, slots: Sequence[Slot]) -> int:
        """Index of the baseline among those slots; the first where it is not there."""
        base = self.slots[self.base]
        return slots.index(base) if base in slots else 0


def placed(
    planned: Iterable[PlannedGroup],
    environments: Iterable[Environment],
    framework_envs: Mapping[str, Environment] | None = None,
) -> list[PlannedGroup]:
    """Every group with the environments of its cases, environment by environment.

    A framework with an environment of its own (`opbench.envs.framework_envs`) runs there instead
    of in the current one.
    """
    planned, environments = list(planned), list(environments)
    everywhere = [group for group in planned if group.environments]
    known: set[tuple[Slot, ...]] = set()

    def place(case: Case, environment: Environment) -> Environment:
        current = environment.name == "current"
        return (framework_envs or {}).get(case.framework, environment) if current else environment

    for environment in environments:
        # The same group in two environments is measured twice, not interleaved.
        where = f" in {environment.name}" if len(environments) > 1 else ""
        for group in planned:
            if group.environments:
                continue
            places = tuple(place(case, environment) for case in group.cases)
            there = replace(group, environments=places, where=where)
            if there.slots not in known:
                known.add(there.slots)
                everywhere.append(there)
    return everywhere


#: The name under which a case is measured together with others, given the axis of the baseline.
Family = Callable[[Case, str], str]


def own_name(case: Case, axis: str) -> str:
    return case.name


def groups(
    cases: Iterable[Case],
    baseline: Baseline | None = None,
    family: Family = own_name,
) -> list[PlannedGroup]:
    """One group per case; with a baseline, one per set of cases of the same family that differ
    only in its axis."""
    if baseline is None:
        return [PlannedGroup((case,)) for case in cases]
    cases = list(cases)
    values = {value for case in cases if (value := baseline.value_of(case)) is not None}
    if not values:
        if any(case.name == baseline.value for case in cases):
            hint = f"did you mean {NAME}={baseline.value}?"
            raise UserError(f"unknown axis '{baseline.axis}'; {hint}")
        axes = dict.fromkeys((*(axis for case in cases for axis in case.axes), NAME))
        raise UserError(unknown("axis", baseline.axis, axes))
    if not values & set(baseline.values):
        raise UserError(
            f"no case has {baseline.axis}={baseline.value}; choose from: "
            f"{', '.join(sorted(values))}"
        )
    sets: dict[tuple[object, ...], list[Case]] = {}
    for case in cases:
        key = _apart_from(case, baseline.axis, family(case, baseline.axis))
        sets.setdefault(key, []).append(case)
    return [group for members in sets.values() for group in _grouped(members, baseline, family)]


def _grouped(members: Sequence[Case], baseline: Baseline, family: Family) -> list[PlannedGroup]:
    bases = [i for i, case in enumerate(members) if baseline.holds(case)]
    # Of several, the one after which the family is called.
    bases.sort(key=lambda i: members[i].name != family(members[i], baseline.axis))
    base = bases[0] if bases else None
    if base is None and baseline.axis == NAME:  # benchmarks that just share their axes
        return [PlannedGroup((case,)) for case in members]
    return [PlannedGroup(tuple(members), base=base or 0)]


def _apart_from(case: Case, axis: str, family: str) -> tuple[object, ...]:
    rest: tuple[tuple[str, Label], ...] = tuple(pair for pair in case.labels if pair[0] != axis)
    by_name = axis == NAME and axis not in case.axes
    return (case.suite, "" if by_name else family, case.stage, rest)
