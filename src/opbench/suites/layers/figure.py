"""One figure for a paper: the overhead of each layer over the batch size, in one column.

A small panel for each layer, all with the same logarithmic scale, so that they can be compared by
eye; 95 % intervals as bars; published values as open marks; the colours of all other charts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opbench.errors import UserError
from opbench.files import make_folder
from opbench.report.charts.chart import Chart, Drawing, Spec, side_by_side
from opbench.suites.layers.charts import (
    KINDS,
    Looks,
    batch_sizes,
    data_of,
    factor_layers,
    factor_scale,
    point,
)
from opbench.suites.layers.factors import MAX_MEMORY, LayerRow, metrics_of
from opbench.suites.layers.factors_published import Published
from opbench.suites.layers.report import WAITED

#: The width of a column in the two-column styles of ACM, IEEE and ICML, about 84 to 89 mm.
COLUMN_MM = 85.0
FORMATS = (".svg", ".pdf")
#: Pixels of all panels of a row together, and the height of one by the number of them.
WIDTH, HEIGHTS = 246, {1: 110, 2: 80, 3: 62}
COLUMNS = 3
#: Pixels of the drawing; in a column of 85 mm they are about 7 points.
SMALL, TINY = 9, 8


def figure(rows: Sequence[LayerRow], metric: str, against: Published | None = None) -> Chart:
    """Factors over torch.nn; of the whole step if it was measured."""
    steps = [row for row in rows if row.stage == "forward_backward"] or list(rows)
    known = [row for row in steps if row.metric == metric and row.factor_nn is not None]
    if not known:
        drawable = metrics_of([row for row in steps if row.factor_nn is not None])
        hint = f"use --metric {' or '.join(drawable)}" if drawable else "measure baseline as well"
        raise UserError(f"no factors of {metric} over torch.nn to draw; {hint}")
    looks = Looks.of(rows).channels(known)
    # Its symbols would be open, as published values are: `_explained` has it in words.
    looks["shape"] = {**looks["shape"], "legend": None}
    points = [point(row, against) for row in known]
    names = dict.fromkeys(row.panel for row in known)
    columns = min(COLUMNS, len(names))
    titles = {row.panel: [row.family, row.note] if row.note else row.family for row in known}
    scale = factor_scale(points)
    panels = []
    for number, name in enumerate(names):
        own = [each for each in points if each["layer"] == name]
        x = batch_sizes(points, "batch size" if number + columns >= len(names) else None)
        title = None if number % columns else "× torch.nn"
        size = {"width": WIDTH // columns, "height": HEIGHTS[columns]}
        spec = {
            "title": {
                "text": titles[name],
                "fontSize": SMALL,
                "fontWeight": "normal",
                "offset": 2,
                "limit": size["width"] + 20,
            },
            "layer": factor_layers(looks, {"x": x}, "y", scale, size=14, line=True, title=title),
        }
        panels.append(Drawing("layers", spec, {}, data_of(own)).chart(**size))
    together = side_by_side(panels, "", columns)
    return Chart({**together.spec, **_SHARED, "title": _explained(points)})


def _explained(points: Sequence[dict[str, Any]]) -> Spec | None:
    """What the marks mean."""
    kinds = [kind for kind in KINDS if any(each["kind"] == kind for each in points)]
    parts = [f"{KINDS[kind]}s: {kind}" for kind in kinds] if len(kinds) > 1 else []
    if any(each["published"] is not None for each in points):
        parts.append("open: published")
    if not parts:
        return None
    return {
        "text": "; ".join(parts),
        "orient": "bottom",
        "anchor": "middle",
        "fontSize": TINY,
        "fontWeight": "normal",
        "offset": 4,
    }


_SHARED: Spec = {
    "spacing": 8,
    "resolve": {"scale": {"y": "shared", "color": "shared", "shape": "shared"}},
    "config": {
        "background": "white",
        "font": "Helvetica, Arial, sans-serif",
        "view": {"stroke": "#bbb", "strokeWidth": 0.5},
        "axis": {
            "labelFontSize": TINY, "titleFontSize": TINY, "titleFontWeight": "normal",
            "titlePadding": 2, "labelPadding": 2, "tickSize": 3, "gridColor": "#eee",
            "domainWidth": 0.5, "tickWidth": 0.5, "gridWidth": 0.5, "tickCount": 4,
            # Where the points are, not at the nearest pixel.
            "tickRound": False, "translate": 0,
        },
        "legend": {
            "orient": "bottom", "labelFontSize": TINY, "titleFontSize": TINY, "symbolSize": 24,
            "titleFontWeight": "normal", "columns": 5, "columnPadding": 6, "rowPadding": 1,
        },
    },
}  # fmt: skip


def save(
    rows: Sequence[LayerRow], path: Path, metric: str = "", against: Published | None = None
) -> None:
    """Write the figure as SVG or PDF; `metric` defaults to the time that a caller waits."""
    if path.suffix not in FORMATS:
        raise UserError(f"{path}: a figure is written as .svg or .pdf")
    there = metrics_of(rows)
    default = next((name for name in (*WAITED, *there) if name in there), MAX_MEMORY)
    chart = figure(rows, metric or default, against)
    make_folder(path.parent)
    chart.save(path, COLUMN_MM)
