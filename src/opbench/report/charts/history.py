"""A case over all runs: its points, its levels, and where they changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from opbench.analyse.history import Series
from opbench.analyse.sides import labels_of
from opbench.report.charts.chart import (
    DOT,
    NEAR,
    Drawing,
    columns_of,
    layer,
    quantity,
    scaled,
    tips,
)
from opbench.report.units import format_change, format_time
from opbench.store.history import Origin

#: Values farther than this many interquartile ranges from the quartiles are drawn as arrows at the
#: edge: one bad night must not flatten a year.
FENCE = 3
#: Dates below the chart: more would overlap.
DAYS = 6
#: What the dotted lines are, in the words of `opbench history`.
DOTTED = "dotted: another environment, opbench or case"

_X = quantity(
    "run", "run, oldest first", scale={"nice": False, "padding": 12},
    axis={"values": "{ticks}", "labelExpr": "{days}", "grid": False},
)  # fmt: skip
_REACH = f"({FENCE} * (datum.q3 - datum.q1) || 0.03 * abs(datum.middle))"
_OUTLIERS = [
    {
        "joinaggregate": [
            {"op": "q1", "field": "value", "as": "q1"},
            {"op": "q3", "field": "value", "as": "q3"},
            {"op": "median", "field": "value", "as": "middle"},
        ]
    },
    {
        "calculate": f"clamp(datum.value, datum.q1 - {_REACH}, datum.q3 + {_REACH})",
        "as": "at",
    },
    {
        "calculate": "datum.value > datum.at ? '↑' : datum.value < datum.at ? '↓' : ''",
        "as": "beyond",
    },
]
_TIP = tips("value", "interval", "run id", "when", "commit")
_INSIDE = [*_OUTLIERS, {"filter": "!datum.beyond"}]
_CHANGE = {
    "field": "kind", "type": "nominal", "legend": None,  # the text of each says it
    "scale": {"domain": ["slower", "faster"], "range": ["var(--slower)", "var(--faster)"]},
}  # fmt: skip
SPEC = {
    "title": "{title}",
    "height": 280,
    "layer": [
        layer({"type": "rule", "color": "var(--faint)", "strokeWidth": 2}, "levels",
              x=_X, x2={"field": "to"}, y=quantity("level", "{y}", scale=NEAR)),
        layer({"type": "rule", "color": "var(--faint)", "strokeDash": [2, 3]}, "events",
              x=_X, tooltip=tips("changed here")),
        {**layer({"type": "rule", "color": "var(--blue)", "opacity": 0.5},
                 x=_X, y=quantity("low", "{y}", scale=NEAR), y2={"field": "high"}),
         "transform": _INSIDE},
        {**layer({**DOT, "color": "var(--blue)", "size": 40},
                 x=_X, y=quantity("value", "{y}", scale=NEAR), tooltip=_TIP),
         "transform": _INSIDE},
        {**layer({"type": "text", "color": "var(--bad)", "fontWeight": "bold"},
                 x=_X, y=quantity("at", "{y}", scale=NEAR), text={"field": "beyond"},
                 tooltip=_TIP),
         "transform": [*_OUTLIERS, {"filter": "datum.beyond"}]},
        layer({"type": "text", "text": "×", "color": "var(--bad)", "fontWeight": "bold"}, "bad",
              x=_X, y={"value": "height"}, tooltip=tips("reason")),
        {**layer({"type": "rule"}, "changes", x=_X, color=_CHANGE, tooltip=tips("text", "cause")),
         "name": "change"},
        layer({"type": "text", "align": "left", "dx": 4, "baseline": "top", "fontWeight": "bold"},
              "changes", x=_X, y={"value": 2}, color=_CHANGE, text={"field": "text"}),
    ],
}  # fmt: skip


def history(series: Series) -> Drawing | None:
    """None where there are not two values."""
    good = [(index, row) for index, row in enumerate(series.points) if row.ok]
    if len(good) < 2:
        return None
    factor, symbol = scaled(series.unit, median(float(row.estimate or 0.0) for _, row in good))
    points: list[dict[str, Any]] = []
    for index, row in good:
        value = (row.estimate or 0.0) / factor
        known = row.low is not None and row.high is not None
        low, high = ((end or 0.0) / factor if known else value for end in (row.low, row.high))
        low = max(low, min(0.0, value))  # a wide interval must not drag the axis below zero
        points.append(
            {
                "run": index,
                "value": value,
                "low": low,
                "high": high,
                "interval": f"[{low:.4g}, {high:.4g}]",
                "run id": row.run.id,
                "when": format_time(row.run.created, "%Y-%m-%d %H:%M"),
                "commit": row.origin.commit[:10],
            }
        )
    changes = [
        {
            "run": change.index - 0.5,
            "kind": "slower" if change.rises else "faster",
            "text": format_change(change.ratio) if change.ratio else "",
            "cause": "",
        }
        for change in series.changes
    ]
    days = _ticks([(row.run.created, row.run.id, side_of(row.origin)) for row in series.points])
    levels = [
        {"run": start, "to": end, "level": level / factor}
        for start, end, level in levels_of(series)
    ]
    machine = ", ".join(filter(None, (series.hardware, series.environment)))
    subtitle = "; ".join(filter(None, (machine, DOTTED if series.notes else "")))
    return Drawing(
        "history",
        SPEC,
        {
            "{title}": {"text": series.case_id, "subtitle": subtitle},
            "{y}": f"{series.metric}, {symbol}",
            "{ticks}": list(range(0, len(days), max(1, -(-len(days) // DAYS)))),
            "{days}": f"{json.dumps(days)}[datum.value]",
        },
        {
            "points": columns_of(points),
            "levels": columns_of(levels),
            "changes": columns_of(changes),
            "events": {"run": [index - 0.5 for index in series.notes]},
            "bad": {"run": [index for index, row in enumerate(series.points) if not row.ok]},
        },
    )


def side_of(origin: Origin) -> str:
    """What tells the points of one run apart: its side of `opbench ab`, or the commit it measured;
    empty for the only one."""
    built = origin.environment if origin.built_from else ""
    return labels_of(origin.run).get(origin.environment, built)


def _ticks(points: Sequence[tuple[float, str, str]]) -> list[str]:
    """Days; with the time of day where a day has several runs, ids where not even that differs.
    Then with the side where a run has several points."""
    shapes = ("%Y-%m-%d", "%m-%d %H:%M")
    runs = [[format_time(created, shape) for created, _, _ in points] for shape in shapes]
    runs.append([run_id for _, run_id, _ in points])
    sides = [[f"{run} {p[2]}".rstrip() for run, p in zip(each, points)] for each in runs]
    forms = (form for form in (*runs, *sides) if len(set(form)) == len(points))
    return next(forms, sides[-1])


def levels_of(series: Series) -> list[tuple[float, float, float]]:
    """From, to, and the median of each stretch between two changes."""
    edges = [0, *(change.index for change in series.changes), len(series.points)]
    levels = []
    for start, end in pairwise(edges):
        own = [float(row.estimate or 0.0) for row in series.points[start:end] if row.ok]
        if own:
            levels.append((start - 0.5, end - 0.5, median(own)))
    return levels
