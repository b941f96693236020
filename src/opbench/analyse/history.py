"""One case over time: every stored run a point, and where its level changed, beside what else did.

Points are joined into a series only where a change of level could be the code's: one machine, one
environment by name. What is installed in that environment may change along the way; that is what
people want to see, so it stays in the series and is marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from opbench.analyse.points import Difference, HistoryPoint, differences, part
from opbench.stats.changepoints import ChangePoint, Point, change_points
from opbench.store import Store, StoreError
from opbench.store.history import StoredPoint


@dataclass(frozen=True)
class Change:
    """A new level, between two neighbouring points of a series."""

    #: Of the first point on the new level, in `Series.points`.
    index: int
    before: HistoryPoint
    after: HistoryPoint
    level: ChangePoint
    #: What else changed there; empty when nothing that is stored did.
    differences: tuple[Difference, ...]

    @property
    def ratio(self) -> float | None:
        return self.level.ratio

    @property
    def rises(self) -> bool:
        return self.level.after > self.level.before


@dataclass(frozen=True)
class Series:
    machine: str
    #: The processor, and devices where there are some: for people.
    hardware: str
    environment: str
    points: tuple[HistoryPoint, ...]
    changes: tuple[Change, ...]
    #: By index of a point: what differs from the point before, its commit excepted.
    marks: dict[int, tuple[Difference, ...]]

    @property
    def measured(self) -> int:
        return sum(point.ok for point in self.points)


@dataclass(frozen=True)
class History:
    case_id: str
    metric: str
    unit: str
    #: The series with the latest point first.
    series: tuple[Series, ...]

    @property
    def runs(self) -> int:
        return len({point.run_id for series in self.series for point in series.points})


def history(store: Store, case_id: str, metric: str = "time", last: int | None = None) -> History:
    """The history of the case with exactly that id; of its `last` runs, when given."""
    stored = store.history(case_id, metric)
    if not stored:
        kept = store.metrics_of(case_id)
        has = f"it has {', '.join(kept)}" if kept else "it has no results"
        raise StoreError(f"no {metric} of {case_id} is stored: {has}")
    if last is not None:
        runs = list(dict.fromkeys(point.run_id for point in stored))[-last:]
        stored = [point for point in stored if point.run_id in set(runs)]
    facts = store.environments(point.fingerprint for point in stored)
    return History(case_id, metric, stored[-1].unit, tuple(_series(stored, facts)))


def _series(stored: Sequence[StoredPoint], facts: dict[str, dict[str, Any]]) -> list[Series]:
    apart: dict[tuple[str, str, str], list[HistoryPoint]] = {}
    for row in stored:
        interpreter = part(facts.get(row.fingerprint, {}), "interpreter")
        point = _point(row, interpreter)
        hardware = hardware_of(measured_on(row.machine, row.node))
        key = (point.machine, hardware, _environment(row, interpreter))
        apart.setdefault(key, []).append(point)
    return [
        _analysed(*key, points, facts)
        for key, points in sorted(apart.items(), key=lambda item: item[1][-1].created, reverse=True)
    ]


def _analysed(
    machine: str,
    hardware: str,
    environment: str,
    points: Sequence[HistoryPoint],
    facts: dict[str, dict[str, Any]],
) -> Series:
    good = [index for index, point in enumerate(points) if point.ok]
    values = [
        Point(point.estimate, point.low, point.high)
        for point in (points[index] for index in good)
        if point.estimate is not None
    ]
    changes = []
    for level in change_points(values):
        before, after = points[good[level.index - 1]], points[good[level.index]]
        known = differences(before, after, facts)
        changes.append(Change(good[level.index], before, after, level, known))
    marks = {}
    for index, (before, after) in enumerate(pairwise(points), start=1):
        other = tuple(d for d in differences(before, after, facts) if d.kind != "commit")
        if other:
            marks[index] = other
    return Series(machine, hardware, environment, tuple(points), tuple(changes), marks)


def _point(row: StoredPoint, interpreter: dict[str, Any]) -> HistoryPoint:
    # In an environment made from a commit, that one was measured, whatever the project was on.
    own = str(interpreter.get("commit") or "")
    return HistoryPoint(
        run_id=row.run_id,
        created=row.created,
        name=row.run_name,
        commit=own or row.commit,
        dirty=not own and bool(part(row.machine, "git").get("dirty")),
        environment=row.environment,
        fingerprint=row.fingerprint,
        machine=machine_name(row.machine, row.node),
        version=row.version,
        case_hash=row.case_hash,
        outcome=row.outcome,
        reason=row.reason,
        estimate=row.estimate,
        low=row.low,
        high=row.high,
    )


def machine_name(machine: dict[str, Any], node: str) -> str:
    return node or str(part(machine, "system").get("machine_id") or "")


def measured_on(machine: dict[str, Any], node: str) -> dict[str, Any]:
    """The machine behind a result: that of the run, or the node of its fleet."""
    if not node:
        return machine
    told = part(part(machine, "fleet"), node)
    gpus = [{"name": name} for name in told.get("gpus") or ()]
    return {"cpu": {"model": told.get("cpu")}, "gpus": gpus}


def _environment(row: StoredPoint, interpreter: dict[str, Any]) -> str:
    """The name without its commit (`mxnet@0123456`, `0123456`): commits make the series."""
    if not interpreter.get("commit"):
        return row.environment
    base, at, _ = row.environment.partition("@")
    return base if at else "current"


def hardware_of(machine: dict[str, Any]) -> str:
    """`Arm Neoverse-N1 × 2`: another processor under the same machine id is another machine."""
    cpu = part(machine, "cpu")
    cores = cpu.get("logical_cores")
    names: Iterable[str] = (
        f"{cpu.get('model') or ''}{f' × {cores}' if cores else ''}",
        *(str(gpu.get("name")) for gpu in machine.get("gpus") or () if isinstance(gpu, dict)),
    )
    return ", ".join(name for name in names if name)
