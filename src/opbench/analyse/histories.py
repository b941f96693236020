"""Every case of a run over time: the series of `history`, for thousands of cases at once.

The same rules as for one case (what belongs to one series, what counts as a change, what stands
beside it), worked out in columns: a point becomes an object only where something changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from opbench.analyse.history import hardware_of, machine_name, measured_on
from opbench.analyse.points import Difference, HistoryPoint, differences, part
from opbench.analyse.side_by_side import side_by_side
from opbench.stats.changepoints import ChangePoint, Point, change_points
from opbench.store import Store
from opbench.store.all_histories import AllHistories, Narrow
from opbench.store.records import RunRecord

#: Changes among more points than this are worth more than one process.
MANY = 50_000

#: (machine, hardware, environment)
Kind = tuple[str, str, str]


@dataclass(frozen=True)
class Step:
    """A change of level at one point of a track, and what else changed there."""

    index: int
    level: ChangePoint
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Track:
    """One metric of one case, on one machine, in one environment, over time."""

    case_id: str
    metric: str
    kind: Kind
    points: list[Narrow]
    steps: tuple[Step, ...]
    #: By index of a point: packages, interpreter or code that differ from the point before.
    marks: dict[int, tuple[Difference, ...]]


@dataclass(frozen=True)
class Histories:
    runs: list[RunRecord]
    tracks: list[Track]


def histories(store: Store, run: str, last: int | None = None) -> Histories:
    """Tracks of all cases of a run; only those with two points or more are a history."""
    found = store.histories(run, last)
    marks = {row.fingerprint for rows in found.rows.values() for row in rows}
    facts = store.environments(marks)
    return Histories(found.runs, list(_tracks(found, facts)))


def tracks_of(store: Store, run: str, case_id: str, metric: str) -> Histories:
    """The tracks of one metric of one case that the run has a result of."""
    found = store.histories(run)
    found.rows = {key: rows for key, rows in found.rows.items() if key == (case_id, metric)}
    marks = {row.fingerprint for rows in found.rows.values() for row in rows}
    return Histories(found.runs, list(_tracks(found, store.environments(marks))))


def _tracks(found: AllHistories, facts: dict[str, dict[str, Any]]) -> Iterator[Track]:
    series = list(_series(found, facts))
    many = sum(len(points) for *_, points in series) > MANY
    with side_by_side(
        lambda index: _levels(series[index][-1]), range(len(series)), worth_it=many
    ) as all_levels:
        for (case_id, metric, kind, points), levels in zip(series, all_levels):
            yield _track(case_id, metric, kind, points, levels, found.runs, facts)


def _series(
    found: AllHistories, facts: dict[str, dict[str, Any]]
) -> Iterator[tuple[str, str, Kind, list[Narrow]]]:
    """Points that belong together: case, metric, kind, points."""
    kinds: dict[tuple[int, str], tuple[str, str]] = {}
    commits = {mark: _commit(each) for mark, each in facts.items()}
    for (case_id, metric), rows in found.rows.items():
        apart: dict[Kind, list[Narrow]] = {}
        for row in rows:
            environment = row.environment
            if commits.get(row.fingerprint):
                base, at, _ = environment.partition("@")
                environment = base if at else "current"
            kind = kinds.get((row.run, row.node))
            if kind is None:
                machine = found.runs[row.run].machine
                kind = (
                    machine_name(machine, row.node),
                    hardware_of(measured_on(machine, row.node)),
                )
                kinds[row.run, row.node] = kind
            apart.setdefault((*kind, environment), []).append(row)
        for of_track, points in apart.items():
            if len(points) > 1:
                yield case_id, metric, of_track, points


def _levels(points: list[Narrow]) -> tuple[ChangePoint, ...]:
    """Changes of level; their indices are those of the good points."""
    good = [row for row in points if is_ok(row)]
    return change_points([Point(row.estimate or 0.0, row.low, row.high) for row in good])


def _track(
    case_id: str,
    metric: str,
    kind: Kind,
    points: list[Narrow],
    levels: Sequence[ChangePoint],
    runs: Sequence[RunRecord],
    facts: dict[str, dict[str, Any]],
) -> Track:
    good = [index for index, row in enumerate(points) if is_ok(row)] if levels else []

    def between(before: int, after: int) -> tuple[Difference, ...]:
        return differences(
            _point(points[before], runs, facts), _point(points[after], runs, facts), facts
        )

    steps = [
        Step(good[level.index], level, between(good[level.index - 1], good[level.index]))
        for level in levels
    ]
    marks = {}
    for index in range(1, len(points)):
        one, other = points[index - 1], points[index]
        if one.case_hash != other.case_hash or one.fingerprint != other.fingerprint:
            known = tuple(d for d in between(index - 1, index) if d.kind != "commit")
            if known:
                marks[index] = known
    return Track(case_id, metric, kind, points, tuple(steps), marks)


def is_ok(row: Narrow) -> bool:
    return row.outcome == "ok" and row.estimate is not None and math.isfinite(row.estimate)


def _point(
    row: Narrow, runs: Sequence[RunRecord], facts: dict[str, dict[str, Any]]
) -> HistoryPoint:
    run = runs[row.run]
    own = _commit(facts.get(row.fingerprint, {}))
    return HistoryPoint(
        run_id=run.id,
        created=run.created,
        name=run.name,
        commit=own or run.commit,
        dirty=not own and bool(part(run.machine, "git").get("dirty")),
        environment=row.environment,
        fingerprint=row.fingerprint,
        machine=machine_name(run.machine, row.node),
        version=run.version,
        case_hash=row.case_hash,
        outcome=row.outcome,
        reason=row.reason,
        estimate=row.estimate,
        low=row.low,
        high=row.high,
    )


def _commit(facts: dict[str, Any]) -> str:
    return str(part(facts, "interpreter").get("commit") or "")
