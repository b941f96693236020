"""One figure for a paper: the overhead of each layer over the batch size, in one column.

A small panel for each layer, all with the same logarithmic scale, so that they can be compared by
eye; 95 % intervals as bars; published values as open marks; the colours of all other charts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opbench.errors import UserError
from opbench.files import make_folder
from opbench.report.charts.chart import Chart, Drawing, Spec, quantity, side_by_side
from opbench.suites.layers.charts import Looks, data_of, factor_layers, factor_scale, point
from opbench.suites.layers.factors import MAX_MEMORY, LayerRow, metrics_of
from opbench.suites.layers.factors_published import Published
from opbench.suites.layers.report import WAITED

#: The width of a column in the two-column styles of ACM, IEEE and ICML, about 84 to 89 mm.
COLUMN_MM = 85.0
FORMATS = (".svg", ".pdf")
PANEL = {"width": 82, "height": 62}
COLUMNS = 3
#: Pixels of the drawing; in a column of 85 mm they are about 7 points.
SMALL, TINY = 9, 8


def figure(rows: Sequence[LayerRow], metric: str, against: Published | None = None) -> Chart:
    """Factors over torch.nn; of the whole step if it was measured."""
    steps = [row for row in rows if row.stage == "forward_backward"] or list(rows)
    known = [row for row in steps if row.metric == metric and row.factor_nn is not None]
    if not known:
        there = ", ".join(m for m in metrics_of(steps)) or "none"
        raise UserError(f"no factors of {metric} over torch.nn to draw; metrics measured: {there}")
    looks = Looks.of(rows).channels(known)
    points = [point(row, against) for row in known]
    sizes = sorted({each["batch"] for each in points})
    families = list(dict.fromkeys(row.family for row in known))
    scale = factor_scale(points)
    panels = []
    for number, family in enumerate(families):
        own = [each for each in points if each["layer"] == family]
        x = quantity(
            "batch",
            "batch size" if number + COLUMNS >= len(families) else None,
            scale={"type": "log", "base": 2, "padding": 6},
            axis={"values": sizes, "format": "d", "labelOverlap": True, "grid": False},
        )
        title = None if number % COLUMNS else "× torch.nn"
        spec = {
            "title": {"text": family, "fontSize": SMALL, "fontWeight": "normal", "offset": 2},
            "layer": factor_layers(looks, {"x": x}, "y", scale, size=14, line=True, title=title),
        }
        panels.append(Drawing("layers", spec, {}, data_of(own)).chart(**PANEL))
    together = side_by_side(panels, "", min(COLUMNS, len(panels)))
    return Chart({**together.spec, **_SHARED})


_SHARED: Spec = {
    "title": None,
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
