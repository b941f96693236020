"""The roofline as a chart: each operator a point below the roof of its machine and dtype."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opbench.report.units import format_percent, format_value
from opbench.suites.peaks.limits import Peaks, Place
from opbench.suites.peaks.roofline import Point
from opbench.suites.peaks.roofline_table import place_name

if TYPE_CHECKING:
    import altair

SIZE = {"width": 640, "height": 400}
#: More names than this would hide the points.
MOST_NAMES = 60
#: How far the roof is drawn beyond the outermost points, as a factor.
AIR = 4.0


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


def chart(points: Sequence[Point], peaks: Mapping[Place, Peaks]) -> altair.LayerChart | None:
    """None where no operator does any arithmetic."""
    import altair

    shown = [point for point in points if point.intensity and point.flops]
    if not shown:
        return None
    low = min(point.intensity for point in shown) / AIR
    high = max(point.intensity for point in shown) * AIR
    roofs = [
        corner
        for place, dtype in dict.fromkeys((p.place, p.case.dtype or "float32") for p in shown)
        if (found := peaks.get(place)) and found.bandwidth and found.flops.get(dtype)
        for corner in roof(found, dtype, low, high)
    ]
    data = [
        {
            "intensity": point.intensity,
            "gflops": point.flops / 1e9,
            "operator": point.case.name,
            "case": point.case.id,
            "framework": point.case.framework,
            "time": format_value(point.result.estimate, point.result.unit),
            "share": "" if point.share is None else format_percent(point.share),
        }
        for point in shown
    ]
    log = altair.Scale(type="log")
    x = altair.X("intensity:Q", scale=log, title="intensity, FLOP per byte")
    y = altair.Y("gflops:Q", scale=log, title="GFLOP/s")
    dots = (
        altair.Chart(altair.InlineData(values=data))
        .mark_point(filled=True, size=50, opacity=0.8)
        .encode(
            x=x,
            y=y,
            color=altair.Color("framework:N", title="framework"),
            tooltip=["case:N", "time:N", "share:N"],
        )
    )
    names = (
        altair.Chart(altair.InlineData(values=data))
        .mark_text(align="left", dx=6, dy=-4, fontSize=9)
        .encode(x=x, y=y, text="operator:N")
    )
    layers: list[Any] = [dots, names] if len(data) <= MOST_NAMES else [dots]
    if roofs:
        lines = (
            altair.Chart(altair.InlineData(values=roofs))
            .mark_line(color="gray")
            .encode(x=x, y=y, strokeDash=altair.StrokeDash("roof:N", title="limit"))
        )
        layers = [lines, *layers]
    return altair.layer(*layers).properties(title="Achieved, and the machine's limits", **SIZE)


def save(points: Sequence[Point], peaks: Mapping[Place, Peaks], path: Path) -> bool:
    """Write the chart as PNG, SVG or HTML, by the name of the file; False without any point."""
    drawn = chart(points, peaks)
    if drawn is None:
        return False
    # Twice the pixels: charts are shown on dense screens and in print.
    drawn.save(str(path), scale_factor=2.0 if path.suffix == ".png" else 1.0)
    return True
