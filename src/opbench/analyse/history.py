"""Cases over time: every stored run a point, where the level changed, and what else changed there.

Points are joined into a series only where a change of level could be the code's: one machine, one
environment by name. What is installed in that environment may change along the way; that is what
people want to see, so it stays in the series and is noted.

Every case of a run and one case of a store are the same question with another filter. A million
points must pass, so they stay the rows that the store read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from opbench.analyse.differences import Difference, differences
from opbench.analyse.side_by_side import side_by_side
from opbench.stats.changepoints import ChangePoint, Point, change_points
from opbench.store import Store, StoreError
from opbench.store.history import HistoryRow, Origin, StoredHistory

#: Changes among more points than this are worth more than one process.
MANY = 50_000


@dataclass(frozen=True)
class Change:
    """A new level, between two neighbouring points of a series."""

    #: Of the first point on the new level, in `Series.points`.
    index: int
    before: HistoryRow
    after: HistoryRow
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
    """One metric of one case, on one machine, in one environment, over time."""

    case_id: str
    metric: str
    unit: str
    machine: str
    hardware: str
    environment: str
    points: Sequence[HistoryRow]
    changes: tuple[Change, ...]
    #: By index of a point: what differs from the point before, its commit excepted.
    notes: dict[int, tuple[Difference, ...]]

    @property
    def measured(self) -> int:
        return sum(point.ok for point in self.points)


@dataclass(frozen=True)
class History:
    """One metric of one case, wherever it was measured."""

    #: At least one; the series with the latest point first.
    series: tuple[Series, ...]

    @property
    def case_id(self) -> str:
        return self.series[0].case_id

    @property
    def metric(self) -> str:
        return self.series[0].metric

    @property
    def unit(self) -> str:
        return self.series[0].unit

    @property
    def runs(self) -> int:
        return len({point.run.id for series in self.series for point in series.points})


def history(store: Store, case_id: str, metric: str = "time", last: int | None = None) -> History:
    """The history of the case with exactly that id; of its `last` runs, when given."""
    stored = store.history(case_id=case_id, metric=metric, last=last)
    if not stored.rows:
        kept = store.metrics_of(case_id)
        has = f"it has {', '.join(kept)}" if kept else "it has no results"
        raise StoreError(f"no {metric} of {case_id} is stored: {has}")
    found = sorted(_series(stored), key=lambda series: -series.points[-1].run.created)
    return History(tuple(found))


def histories(store: Store, run: str) -> list[Series]:
    """Series of all cases of a run; only those with two points or more are a history."""
    return list(_series(store.history(run=run), least=2))


def _series(stored: StoredHistory, least: int = 1) -> Iterator[Series]:
    place_of = cache(_place)
    groups = []
    for key, rows in stored.rows.items():
        by_place: dict[tuple[str, str, str], list[HistoryRow]] = {}
        for row in rows:
            by_place.setdefault(place_of(row.origin), []).append(row)
        groups += [(key, *found) for found in by_place.items() if len(found[1]) >= least]
    many = sum(len(points) for *_, points in groups) > MANY
    with side_by_side(
        lambda index: _levels(groups[index][-1]), range(len(groups)), worth_it=many
    ) as all_levels:
        for ((case_id, metric), place, points), levels in zip(groups, all_levels):
            changes = tuple(_changes(points, levels))
            unit = stored.units[metric]
            yield Series(case_id, metric, unit, *place, points, changes, _notes(points))


def _place(origin: Origin) -> tuple[str, str, str]:
    """Machine, hardware, and environment: its name without a commit (`mxnet@0123456`, `0123456`),
    because commits are the points of a series."""
    environment = origin.environment
    if origin.built_from:
        base, at, _ = environment.partition("@")
        environment = base if at else "current"
    return origin.machine, origin.hardware, environment


def _levels(points: Sequence[HistoryRow]) -> tuple[ChangePoint, ...]:
    """Changes of level; their indices count the points that have a value."""
    return change_points(
        [Point(row.estimate or 0.0, row.low, row.high) for row in points if row.ok]
    )


def _changes(points: Sequence[HistoryRow], levels: Sequence[ChangePoint]) -> Iterator[Change]:
    good = [index for index, row in enumerate(points) if row.ok] if levels else []
    for level in levels:
        before, after = points[good[level.index - 1]], points[good[level.index]]
        yield Change(good[level.index], before, after, level, differences(before, after))


def _notes(points: Sequence[HistoryRow]) -> dict[int, tuple[Difference, ...]]:
    found = {}
    for index in range(1, len(points)):
        before, after = points[index - 1], points[index]
        old, new = before.origin, after.origin
        if (
            before.case_hash != after.case_hash
            or old.fingerprint != new.fingerprint
            or old.run.version != new.run.version
        ):
            known = tuple(each for each in differences(before, after) if each.kind != "commit")
            if known:
                found[index] = known
    return found
