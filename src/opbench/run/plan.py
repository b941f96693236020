"""What a run will do: cases × metrics × environments, cut into groups measured together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opbench.case import Case, Label
from opbench.define.definition import DefineError


@dataclass(frozen=True)
class Baseline:
    """`AXIS=VALUE`: every other value of the axis is compared with this one."""

    axis: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Baseline:
        axis, equals, value = text.partition("=")
        if not equals or not axis or not value:
            raise DefineError(f"a baseline is written AXIS=VALUE, not '{text}'")
        return cls(axis, value)


@dataclass(frozen=True)
class PlannedGroup:
    """Cases whose blocks are interleaved with each other, because they will be compared."""

    cases: tuple[Case, ...]

    @property
    def id(self) -> str:
        return self.cases[0].id


def groups(cases: Iterable[Case], baseline: Baseline | None = None) -> list[PlannedGroup]:
    """One group per case; with a baseline, one per set of cases that differ only in its axis."""
    if baseline is None:
        return [PlannedGroup((case,)) for case in cases]
    cases = list(cases)
    values = {str(case.axes[baseline.axis]) for case in cases if baseline.axis in case.axes}
    if not values:
        axes = dict.fromkeys(axis for case in cases for axis in case.axes)
        raise DefineError(
            f"no case here has the axis '{baseline.axis}' to compare along; "
            f"there is {', '.join(axes) or 'none'}"
        )
    if baseline.value not in values:
        raise DefineError(
            f"no case has {baseline.axis}={baseline.value}; there is {', '.join(sorted(values))}"
        )
    sets: dict[tuple[object, ...], list[Case]] = {}
    for case in cases:
        sets.setdefault(_apart_from(case, baseline.axis), []).append(case)
    return [PlannedGroup(tuple(members)) for members in sets.values()]


def baseline_of(group: Sequence[Case], baseline: Baseline) -> Case | None:
    for case in group:
        if str(case.axes.get(baseline.axis)) == baseline.value:
            return case
    return None


def _apart_from(case: Case, axis: str) -> tuple[object, ...]:
    rest: tuple[tuple[str, Label], ...] = tuple(pair for pair in case.labels if pair[0] != axis)
    return (case.suite, case.name, case.stage, rest)
