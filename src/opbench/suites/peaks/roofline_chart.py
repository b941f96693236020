"""The roofline as a chart: each operator a point below the roof of its machine and dtype."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opbench.report.charts.chart import (
    DOT,
    LOG,
    Drawing,
    category,
    columns_of,
    layer,
    quantity,
    tips,
)
from opbench.report.units import format_percent, format_value
from opbench.suites.peaks.limits import Peaks, Place
from opbench.suites.peaks.roofline import Point
from opbench.suites.peaks.roofline_table import place_name

#: More names than this would hide the points.
MOST_NAMES = 60
#: How far the roof is drawn beyond the outermost points, as a factor.
AIR = 4.0

_X = quantity("intensity", "intensity, FLOP per byte", scale=LOG)
_Y = quantity("gflops", "GFLOP/s", scale=LOG)
SPEC = {
    "title": "Achieved, and the machine's limits",
    "height": 400,
    "layer": [
        layer({"type": "line", "color": "var(--soft)"}, "roofs", x=_X, y=_Y,
              strokeDash=category("roof", "limit")),
        layer({**DOT, "opacity": 0.8}, x=_X, y=_Y,
              color={"condition": {"test": "datum.here", "value": "var(--orange)"},
                     **category("framework", "framework")},
              size={"condition": {"test": "datum.here", "value": 160}, "value": 50},
              tooltip=tips("case", "gflops", "time", "share of limit")),
        layer({"type": "text", "align": "left", "dx": 6, "dy": -4, "fontSize": 9}, "names",
              x=_X, y=_Y, text={"field": "operator"}),
    ],
}  # fmt: skip


def roof(peaks: Peaks, dtype: str, low: float, high: float) -> list[dict[str, Any]]:
    """The roof of a dtype from one intensity to another: it rises, and then is flat."""
    most = peaks.flops[dtype]
    ridge = most / peaks.bandwidth
    corners = [low, *([ridge] if low < ridge < high else []), high]
    return [
        {
            "intensity": intensity,
            "gflops": min(most, intensity * peaks.bandwidth) / 1e9,
            "roof": f"{dtype}, {place_name(('', peaks.device, peaks.threads))}",
        }
        for intensity in corners
    ]


def drawing(points: Sequence[Point], peaks: Mapping[Place, Peaks]) -> Drawing | None:
    """None where no operator does any arithmetic."""
    shown = [point for point in points if point.intensity and point.flops]
    if not shown:
        return None
    low = min(point.intensity for point in shown) / AIR
    high = max(point.intensity for point in shown) * AIR
    roofs = [
        corner
        for place, dtype in dict.fromkeys((p.place, p.case.dtype or "float32") for p in shown)
        if (limit := peaks.get(place)) and limit.bandwidth and limit.flops.get(dtype)
        for corner in roof(limit, dtype, low, high)
    ]
    data = [
        {
            "intensity": float(f"{point.intensity:.5g}"),
            "gflops": float(f"{point.flops / 1e9:.5g}"),
            "operator": point.case.name,
            "case": point.case.id,
            "framework": point.case.framework,
            "time": format_value(point.result.estimate, point.result.unit),
            "share of limit": "" if point.share is None else format_percent(point.share),
        }
        for point in shown
    ]
    few = len(data) <= MOST_NAMES
    note = (
        "The roofs are what this machine was measured to reach: the fastest matrix product and "
        "the fastest copy."
        if roofs
        else "Limits of this machine are unknown; measure them with `opbench peaks`."
    )
    return Drawing(
        "roofline",
        SPEC,
        {},
        {
            "points": columns_of(data),
            "roofs": columns_of(roofs),
            "names": columns_of(data) if few else {},
        },
        {},
        [point.result for point in shown],
        note=note,
        of_case=True,
    )


def save(points: Sequence[Point], peaks: Mapping[Place, Peaks], path: Path) -> bool:
    """Write the chart as PNG, SVG or HTML, by the name of the file; False without any point."""
    drawn = drawing(points, peaks)
    if drawn is not None:
        drawn.chart().save(path)
    return drawn is not None
