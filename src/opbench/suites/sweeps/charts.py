"""The chart of a sweep: time over each dim, one line per config, forward and backward apart."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from opbench.case import Case, label_text
from opbench.report.charts.chart import (
    LOG,
    Chart,
    Spec,
    category,
    layer,
    quantity,
    tips,
)
from opbench.result import Result
from opbench.suites.sweeps.csv_file import Point, points

#: Wide enough for five or six configs side by side in the legend's colours.
PANEL = {"width": 320, "height": 200}


def chart(results: Iterable[tuple[Case, Result]], model: str = "") -> Chart | None:
    """One row of panels per dim that varies, one panel per stage; None where nothing was timed.

    Each combination of the other dims is its own line; the tooltip of a point says which.
    """
    shown = [point for point in points(results) if not model or point.model == model]
    stages = list(dict.fromkeys(stage for point in shown for stage in point.stages))
    dims = list(dict.fromkeys(name for point in shown for name in point.dims))
    varying = [dim for dim in dims if len({point.dims.get(dim) for point in shown}) > 1]
    rows = []
    for dim in varying or dims[:1]:
        panels = [each for each in (panel(shown, dim, stage) for stage in stages) if each]
        if panels:
            rows.append({"hconcat": panels})
    return Chart({"title": model or shown[0].model, "vconcat": rows}) if rows else None


def panel(points: list[Point], dim: str, stage: str) -> Spec | None:
    data: list[dict[str, Any]] = []
    for point in points:
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
    numeric = all(_is_number(row["dim"]) and row["dim"] > 0 for row in data)
    shared: Spec = {
        "x": quantity("dim", dim, scale={"type": "log", "base": 2, "nice": False})
        if numeric
        else {**category("dim", dim), "type": "ordinal"},
        "color": category("config", "config"),
        "detail": category("others"),
        "tooltip": tips("config", "others", "time"),
    }
    time = quantity("time", "ms per call", scale=LOG)
    span = quantity("low", "ms per call", scale=LOG)
    layers = [
        layer({"type": "rule"}, **shared, y=span, y2={"field": "high"}),
        layer({"type": "line", "point": True}, **shared, y=time),
    ]
    for each in layers:
        del each["data"]
    return {"title": stage, **PANEL, "data": {"values": data}, "layer": layers}


def save(results: Iterable[tuple[Case, Result]], path: Path, model: str = "") -> bool:
    """Write the chart as PNG, SVG, HTML or Vega-Lite JSON, by the name of the file."""
    drawn = chart(results, model)
    if drawn is not None:
        drawn.save(path)
    return drawn is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
