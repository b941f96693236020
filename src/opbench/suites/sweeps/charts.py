"""The chart of a sweep: time against each dim, one line per config, forward and backward apart."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opbench.case import Case, label_text
from opbench.result import Result
from opbench.suites.sweeps.csv_file import Point, points

if TYPE_CHECKING:
    import altair

#: Wide enough for five or six configs side by side in the legend's colours.
PANEL = {"width": 320, "height": 200}


def chart(results: Iterable[tuple[Case, Result]], model: str = "") -> altair.VConcatChart | None:
    """One row of panels per dim that varies, one panel per stage; None where nothing was timed.

    The other dims do not vanish: each of their combinations is a line of its own, and each point
    says which when it is pointed at.
    """
    import altair

    found = [point for point in points(results) if not model or point.model == model]
    stages = list(dict.fromkeys(stage for point in found for stage in point.stages))
    dims = list(dict.fromkeys(name for point in found for name in point.dims))
    varying = [dim for dim in dims if len({point.dims.get(dim) for point in found}) > 1]
    rows = []
    for dim in varying or dims[:1]:
        panels = [panel(found, dim, stage) for stage in stages]
        shown = [panel for panel in panels if panel is not None]
        if shown:
            rows.append(altair.hconcat(*shown))
    if not rows:
        return None
    return altair.vconcat(*rows).properties(title=model or found[0].model)


def panel(found: list[Point], dim: str, stage: str) -> altair.LayerChart | None:
    import altair

    data: list[dict[str, Any]] = []
    for point in found:
        result = point.time(stage)
        if result is None or not result.ok or result.estimate is None or dim not in point.dims:
            continue
        others = {name: value for name, value in point.dims.items() if name != dim}
        value = point.dims[dim]
        data.append(
            {
                "dim": value if _is_number(value) else label_text(value),
                "config": point.config,
                "others": ", ".join(f"{n}={label_text(v)}" for n, v in others.items()) or "–",
                "time": result.estimate * 1e3,
                "low": (result.low or result.estimate) * 1e3,
                "high": (result.high or result.estimate) * 1e3,
            }
        )
    if not data:
        return None
    numeric = all(_is_number(row["dim"]) for row in data)
    x = (
        altair.X("dim:Q", title=dim, scale=altair.Scale(type="log", base=2, nice=False))
        if numeric and min(row["dim"] for row in data) > 0
        else altair.X("dim:O", title=dim, sort=None)
    )
    y = altair.Y("time:Q", title="ms per call", scale=altair.Scale(type="log"))
    base = altair.Chart(altair.InlineData(values=data)).encode(
        x=x,
        color=altair.Color("config:N", title="config", sort=None),
        detail="others:N",
        tooltip=["config:N", "others:N", "time:Q"],
    )
    spans = base.mark_rule().encode(y=altair.Y("low:Q", title="ms per call"), y2="high:Q")
    return (spans + base.mark_line(point=True).encode(y=y)).properties(title=stage, **PANEL)


def save(results: Iterable[tuple[Case, Result]], path: Path, model: str = "") -> bool:
    """Write the chart as PNG, SVG, HTML or Vega-Lite JSON, by the name of the file."""
    found = chart(results, model)
    if found is None:
        return False
    # Twice the pixels: charts are shown on dense screens and in print.
    found.save(str(path), scale_factor=2.0 if path.suffix == ".png" else 1.0)
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
