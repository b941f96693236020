"""Comparisons and histories as the page draws them: columns that point at the rows of its table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any

from opbench.analyse.compare import Comparison
from opbench.analyse.histories import MANY, Histories, Step, Track, is_ok
from opbench.analyse.side_by_side import side_by_side
from opbench.report.charts.history import levels
from opbench.report.history import told
from opbench.report.page.packing import Words, number, packed
from opbench.report.page.table import Place, place_of
from opbench.stats.verdict import VERDICTS

#: Tracks whose points are unpacked together.
TRACKS = 50
#: Changes listed on the page, the largest first.
CHANGES = 400


def comparison(
    found: Comparison, places: Mapping[Place, int], metrics: Sequence[str]
) -> dict[str, Any]:
    """Rows as [row, metric, ratio, low, high, verdict, detectable, base estimate, reason]."""
    reasons = Words()
    reasons.index("")
    rows = []
    for row in found.rows:
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
        "base": found.base,
        "new": found.new,
        "verdicts": list(VERDICTS),
        "rows": rows,
        "reasons": reasons.texts,
        "means": [
            {**asdict(mean), **{k: number(getattr(mean, k)) for k in ("value", "low", "high")}}
            for mean in found.means
        ],
        "only_base": list(found.only_base[:50]),
        "only_new": list(found.only_new[:50]),
        "only_counts": [len(found.only_base), len(found.only_new)],
    }


def history(
    found: Histories, rows: Mapping[str, Mapping[str, int]], metrics: Sequence[str]
) -> tuple[dict[str, Any], Points]:
    """What the page needs at once, and the points of the tracks.

    `rows` are the rows of each case id, by environment. A track is listed as [row, metric, kind,
    points]; one of an environment that this run has not goes to the first row of its case.
    """
    used = sorted({row.run for track in found.tracks for row in track.points})
    place = {number_: index for index, number_ in enumerate(used)}
    runs = [found.runs[number_] for number_ in used]
    known = [track for track in found.tracks if track.case_id in rows and track.metric in metrics]
    kinds: dict[tuple[str, str, str], int] = {}
    listed = [
        [
            rows[track.case_id].get(track.kind[2], next(iter(rows[track.case_id].values()))),
            metrics.index(track.metric),
            kinds.setdefault(track.kind, len(kinds)),
            len(track.points),
        ]
        for track in known
    ]
    changes: list[list[Any]] = [
        [index, step.index, number(step.level.ratio), number(step.level.after), _beside(step)]
        for index, track in enumerate(known)
        for step in track.steps
    ]
    changes.sort(key=lambda change: -abs(math.log(change[2])) if change[2] else 0.0)
    head = {
        "runs": [
            [run.id, round(run.created), run.name, run.commit[:12], run.version] for run in runs
        ],
        "kinds": [list(kind) for kind in kinds],
        "tracks": listed,
        "changes": changes[:CHANGES],
        "changes_found": len(changes),
        "piece": TRACKS,
    }
    return head, Points(known, place)


@dataclass(frozen=True)
class Points:
    """Those of all tracks, in pieces of `TRACKS`."""

    tracks: Sequence[Track] = ()
    #: Numbers of runs on the page, by their numbers in the store.
    place: Mapping[int, int] = field(default_factory=dict)

    def pieces(self) -> AbstractContextManager[Iterator[str]]:
        starts = range(0, len(self.tracks), TRACKS)
        many = sum(len(track.points) for track in self.tracks) > MANY
        return side_by_side(self.piece, starts, worth_it=many)

    def piece(self, start: int) -> str:
        chosen = self.tracks[start : start + TRACKS]
        return packed({"tracks": [_points(track, self.place) for track in chosen]})


def _points(track: Track, place: Mapping[int, int]) -> dict[str, Any]:
    """Estimates with four digits, half-widths in per mille: a million points must fit in a page."""
    estimates: list[float | int | None] = []
    halves: list[int] = []
    bad = {}
    for index, row in enumerate(track.points):
        wide = 0
        if not is_ok(row):
            bad[index] = f"{row.outcome}: {row.reason}" if row.reason else row.outcome
            estimates.append(None)
        else:
            estimates.append(number(row.estimate, 4))
            if row.estimate and row.low is not None and row.high is not None:
                share = (row.high - row.low) / 2 / abs(row.estimate)
                wide = round(1000 * share) if share < 100 else 0
        halves.append(wide)
    return {
        "runs": [place[row.run] for row in track.points],
        "e": estimates,
        "half": halves,
        "bad": bad,
        "levels": [[start, end, number(level)] for start, end, level in levels(track)],
        "steps": [
            [s.index, number(s.level.before), number(s.level.after), number(s.level.confidence)]
            for s in track.steps
        ],
        "beside": [_beside(step) for step in track.steps],
        "marks": [[index, ", ".join(map(told, known))] for index, known in track.marks.items()],
    }


def _beside(step: Step) -> str:
    """What else changed there, in the words of `opbench history`."""
    others = [told(each) for each in step.differences if each.kind != "commit"]
    if not others and step.differences:
        each = step.differences[0]
        return f"only the commit changed: {each.before[:7]} → {each.after[:7]}"
    return ", ".join(others) or "nothing that is stored changed; look at the machine"
