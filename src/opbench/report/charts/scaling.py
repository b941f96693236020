"""A metric over an axis of numbers, both logarithmic: a straight line is a power of the size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from opbench.case import label_text
from opbench.report.charts.chart import (
    DOT,
    LOG,
    Drawing,
    columns_of,
    layer,
    named,
    quantity,
    scaled,
    tips,
)
from opbench.report.naming import counted
from opbench.store.records import StoredResult

#: Not the value of any axis.
MISSING = object()
#: More lines than colours and dashes can tell apart.
LINES = 24
#: Parts of a case, besides its labels, that tell one line from another.
PARTS = ("name", "stage", "framework", "runtime", "device")

_X = quantity(
    "x", "{axis}", scale={"type": "{scale}", "nice": False, "padding": 12},
    axis={"values": "{sizes}", "grid": False},
)  # fmt: skip
#: Sizes that fit below the picture, each with its tick; of more, round numbers.
TICKS = 14
_LINE = named("line", "{lines}")
_COLOUR = _LINE["color"]
SPEC = {
    "title": "{title}",
    "height": 320,
    "layer": [
        layer({"type": "rule", "clip": True}, x=_X, color=_COLOUR,
              y=quantity("low", "{y}", scale=LOG), y2={"field": "high"}),
        layer({"type": "line", "clip": True}, x=_X, color=_COLOUR,
              y=quantity("value", "{y}", scale=LOG)),
        {**layer({**DOT, "size": 50, "clip": True}, x=_X, **_LINE,
                 y=quantity("value", "{y}", scale=LOG), tooltip=tips("case", "value")),
         # With Shift only: the wheel alone scrolls the page.
         "params": [{"name": "zoom", "bind": "scales",
                     "select": {"type": "interval", "zoom": "wheel![event.shiftKey]"}}]},
    ],
}  # fmt: skip


def axes_of(results: Iterable[StoredResult]) -> list[str]:
    """Axes of numbers that take more than one value, the longest first."""
    values: dict[str, set[float]] = {}
    for stored in results:
        for axis, value in stored.case.labels:
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                values.setdefault(axis, set()).add(value)
    several = [axis for axis, sizes in values.items() if len(sizes) > 1]
    return sorted(several, key=lambda axis: -len(values[axis]))


def scaling(
    results: Sequence[StoredResult],
    axis: str | None = None,
    metric: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Drawing | None:
    """Of the results of one benchmark; a line for every combination of what else differs.
    `labels` are what environments are called (`analyse.sides.labels_of`)."""
    good = [s for s in results if s.result.ok and (s.result.estimate or 0) > 0]
    metric = metric or next((s.result.metric for s in good), None)
    good = [s for s in good if s.result.metric == metric]
    axis = axis or next(iter(axes_of(good)), None)
    if axis is None or not good:
        return None
    values = sorted(float(stored.result.estimate or 0.0) for stored in good)
    factor, symbol = scaled(good[0].result.unit, values[len(values) // 2])
    varying = [key for key in PARTS if len({getattr(s.case, key) for s in good}) > 1]
    places = {s.result.environment for s in good}
    environments = {place: (labels or {}).get(place, place) for place in places}
    distinct = _distinct_axes(good, axis)
    stages = ", ".join(dict.fromkeys(s.case.stage for s in good))
    placed = [
        (_line(stored, distinct, varying, environments), size, stored)
        for stored in good
        if isinstance(size := stored.case.axes.get(axis), (int, float))
        and not isinstance(size, bool)
    ]
    lines = sorted({line for line, _, _ in placed}, key=counted)
    shown = placed if len(lines) <= LINES else [p for p in placed if p[0] in lines[:LINES]]
    points = [_point(line, size, stored, factor) for line, size, stored in shown]
    sizes = {point["x"] for point in points}
    if len(sizes) < 2:
        return None
    name = _title(good)
    log = min(sizes) > 0
    note = "Both scales are logarithmic." if log else "The scale of the values is logarithmic."
    if len(lines) > LINES:
        note += f" {LINES} of {len(lines):,} lines shown."
    return Drawing(
        "scaling",
        SPEC,
        {
            "{title}": f"{name}: scaling with {axis}",
            "{axis}": axis,
            "{y}": f"{metric}, {symbol}",
            "{scale}": "log" if log else "linear",
            "{sizes}": sorted(sizes) if len(sizes) <= TICKS else None,
            "{lines}": lines[:LINES],
        },
        {"points": columns_of(points)},
        {"Benchmark": name, "Stage": stages, "Axis": axis, "Metric": str(metric)},
        [stored.result for _, _, stored in shown],
        ("case", "value", "low", "high", "x"),
        factor,
        note,
    )


def _title(results: Sequence[StoredResult]) -> str:
    """The benchmark, or the group whose functions are drawn."""
    first = results[0].case
    names = list(dict.fromkeys(stored.case.name for stored in results))
    groups = {stored.case.axes.get("group") for stored in results}
    if len(names) > 1:
        shared = groups.pop() if len(groups) == 1 else None
        return f"{first.suite}/{shared}" if isinstance(shared, str) else first.suite
    return f"{first.suite}/{first.name}"


def _point(line: str, size: float, stored: StoredResult, factor: float) -> dict[str, Any]:
    result = stored.result
    value = (result.estimate or 0.0) / factor
    known = result.low is not None and result.high is not None and result.low > 0
    return {
        "case": stored.case.id,
        "line": line,
        "x": size,
        "value": value,
        "low": (result.low or 0.0) / factor if known else value,
        "high": (result.high or 0.0) / factor if known else value,
    }


def _distinct_axes(results: Iterable[StoredResult], axis: str) -> set[str]:
    """Axes that tell one line from another: those with several values, or missing somewhere."""
    each = [stored.case.axes for stored in results]
    names = {name for axes in each for name in axes} - {axis}
    first = each[0]
    return {n for n in names if n not in first or any(a.get(n, MISSING) != first[n] for a in each)}


def _line(
    stored: StoredResult,
    distinct: Collection[str],
    varying: Sequence[str],
    environments: Mapping[str, str],
) -> str:
    case = stored.case
    labels = [f"{name}={label_text(v)}" for name, v in case.labels if name in distinct]
    more = [str(getattr(case, key)) for key in varying if key not in case.axes]
    if len(environments) > 1:
        more.append(environments[stored.result.environment])
    return ", ".join([*labels, *more]) or case.name
