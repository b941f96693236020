"""Comparisons and histories as the page draws them: columns that point at the rows of its table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any

from opbench.analyse.compare import Comparison
from opbench.analyse.history import MANY, Change, Series
from opbench.analyse.side_by_side import side_by_side
from opbench.report.charts.history import DOTTED, levels_of, side_of
from opbench.report.history import cause_text, difference_text
from opbench.report.page.packing import Words, number, packed
from opbench.report.page.table import Place, place_of
from opbench.stats.verdict import VERDICTS
from opbench.store.history import Origin

#: Tracks whose points are unpacked together.
TRACKS = 50
#: Changes listed on the page, the largest first.
CHANGES = 400


def comparison(
    compared: Comparison, places: Mapping[Place, int], metrics: Sequence[str]
) -> dict[str, Any]:
    """Rows as [row, metric, ratio, low, high, verdict, detectable, base estimate, reason]."""
    reasons = Words()
    reasons.index("")
    rows = []
    for row in compared.rows:
        if row.new is None or row.base is None:
            continue
        at = places.get(place_of(row.new))
        if at is None or row.metric not in metrics:
            continue
        rows.append(
            [
                at,
                metrics.index(row.metric),
                number(row.value),
                number(row.low),
                number(row.high),
                VERDICTS.index(row.verdict),
                number(row.detectable, 3),
                number(row.base.estimate),
                reasons.index(row.reason),
                int(row.edited),
            ]
        )
    return {
        "base": compared.base,
        "new": compared.new,
        "verdicts": list(VERDICTS),
        "rows": rows,
        "reasons": reasons.texts,
        "means": [
            {**asdict(mean), **{k: number(getattr(mean, k)) for k in ("value", "low", "high")}}
            for mean in compared.means
        ],
        "only_base": list(compared.only_base[:50]),
        "only_new": list(compared.only_new[:50]),
        "only_counts": [len(compared.only_base), len(compared.only_new)],
    }


def history(
    all_series: Sequence[Series], rows: Mapping[str, Mapping[str, int]], metrics: Sequence[str]
) -> tuple[dict[str, Any], Points]:
    """What the page needs at once, and the points of the series.

    `rows` are the rows of each case id, by environment. A series is listed as [row, metric, kind,
    points]; one of an environment that this run has not goes to the first row of its case.
    """
    origins = {row.origin for series in all_series for row in series.points}
    sides = {origin: (origin.index, side_of(origin)) for origin in origins}
    # One for each side of a run, oldest first.
    runs = {sides[origin]: origin for origin in sorted(origins, key=lambda each: sides[each])}
    position = {place: at for at, place in enumerate(runs)}
    known = [series for series in all_series if series.case_id in rows and series.metric in metrics]
    kinds: dict[tuple[str, str, str], int] = {}
    listed = []
    for series in known:
        of_case = rows[series.case_id]
        kind = (series.machine, series.hardware, series.environment)
        listed.append(
            [
                of_case.get(series.environment, next(iter(of_case.values()))),
                metrics.index(series.metric),
                kinds.setdefault(kind, len(kinds)),
                len(series.points),
            ]
        )
    changes: list[list[Any]] = [
        [index, change.index, number(change.ratio), number(change.level.after), _cause(change)]
        for index, series in enumerate(known)
        for change in series.changes
    ]
    changes.sort(key=lambda change: -abs(math.log(change[2])) if change[2] else 0.0)
    head = {
        "runs": [
            [run.id, round(run.created), run.name, origin.commit[:12], run.version, side]
            for (_, side), origin in runs.items()
            for run in (origin.run,)
        ],
        "dotted": DOTTED,
        "kinds": [list(kind) for kind in kinds],
        "tracks": listed,
        "changes": changes[:CHANGES],
        "changes_found": len(changes),
        "piece": TRACKS,
    }
    return head, Points(known, {origin: position[sides[origin]] for origin in origins})


@dataclass(frozen=True)
class Points:
    """Those of all series, in pieces of `TRACKS`."""

    series: Sequence[Series] = ()
    #: Numbers of their runs on the page.
    runs: Mapping[Origin, int] = field(default_factory=dict)

    def pieces(self) -> AbstractContextManager[Iterator[str]]:
        starts = range(0, len(self.series), TRACKS)
        many = sum(len(series.points) for series in self.series) > MANY
        return side_by_side(self.piece, starts, worth_it=many)

    def piece(self, start: int) -> str:
        chosen = self.series[start : start + TRACKS]
        return packed({"tracks": [_points(series, self.runs) for series in chosen]})


def _points(series: Series, runs: Mapping[Origin, int]) -> dict[str, Any]:
    """Estimates with four digits, half-widths in per mille: a million points must fit in a page."""
    estimates: list[float | int | None] = []
    halves: list[int] = []
    bad = {}
    for index, row in enumerate(series.points):
        wide = 0
        if not row.ok:
            bad[index] = f"{row.outcome}: {row.reason}" if row.reason else row.outcome
            estimates.append(None)
        else:
            estimates.append(number(row.estimate, 4))
            if row.estimate and row.low is not None and row.high is not None:
                share = (row.high - row.low) / 2 / abs(row.estimate)
                wide = round(1000 * share) if share < 100 else 0
        halves.append(wide)
    levels = [(change.index, change.level) for change in series.changes]
    return {
        "runs": [runs[row.origin] for row in series.points],
        "e": estimates,
        "half": halves,
        "bad": bad,
        "levels": [[start, end, number(level)] for start, end, level in levels_of(series)],
        "steps": [
            [index, number(level.before), number(level.after), number(level.confidence)]
            for index, level in levels
        ],
        "causes": [_cause(change) for change in series.changes],
        "notes": [
            [index, ", ".join(map(difference_text, known))] for index, known in series.notes.items()
        ],
    }


def _cause(change: Change) -> str:
    """In the words of `opbench history`, with the commits where only they differ."""
    commits = [f"{each.before[:7]} → {each.after[:7]}" for each in change.differences[:1]]
    only = all(each.kind == "commit" for each in change.differences)
    return ": ".join([cause_text(change), *(commits if only else [])])
