"""A metric against an axis of numbers, both logarithmic: a straight line is a power of the size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from opbench.case import Case, label_text
from opbench.report.charts.style import WIDTH, inline, log, palette, scaled
from opbench.store.records import StoredResult

if TYPE_CHECKING:
    import altair


def axes_of(results: Iterable[StoredResult]) -> list[str]:
    """Axes of numbers that take more than one value, the longest first."""
    values: dict[str, set[float]] = {}
    for stored in results:
        for axis, value in stored.case.labels:
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                values.setdefault(axis, set()).add(value)
    several = [axis for axis, found in values.items() if len(found) > 1]
    return sorted(several, key=lambda axis: -len(values[axis]))


def scaling(
    results: Sequence[StoredResult], axis: str | None = None, metric: str | None = None
) -> altair.LayerChart | None:
    """Of the results of one benchmark; a line for every combination of everything else."""
    import altair

    good = [s for s in results if s.result.ok and (s.result.estimate or 0) > 0]
    metric = metric or next((s.result.metric for s in good), None)
    good = [s for s in good if s.result.metric == metric]
    axis = axis or next(iter(axes_of(good)), None)
    if axis is None or not good:
        return None
    unit = good[0].result.unit
    sizes = sorted(float(stored.result.estimate or 0.0) for stored in good)
    factor, symbol = scaled(unit, sizes[len(sizes) // 2])
    varying = _varying(good, axis)
    data: list[dict[str, Any]] = []
    for stored in good:
        size = stored.case.axes.get(axis)
        if not isinstance(size, (int, float)) or isinstance(size, bool) or size <= 0:
            continue
        result = stored.result
        point = {
            axis: size,
            "value": (result.estimate or 0.0) / factor,
            "line": _line(stored, axis, varying),
            "case": stored.case.id,
        }
        if result.low and result.high and result.low > 0:
            point |= {"low": result.low / factor, "high": result.high / factor}
        data.append(point)
    if len({point[axis] for point in data}) < 2:
        return None
    name = f"{good[0].case.suite}/{good[0].case.name}"
    x = altair.X(f"{_field(axis)}:Q", scale=log(), title=axis)
    title = f"{metric}, {symbol}"
    base = altair.Chart(inline(data)).encode(
        x=x, color=altair.Color("line:N", scale=palette(), title=None)
    )
    lines = base.mark_line(point=True).encode(
        y=altair.Y("value:Q", scale=log(), title=title), tooltip=["case:N", "value:Q"]
    )
    spans = base.mark_rule().encode(y=altair.Y("low:Q", scale=log(), title=title), y2="high:Q")
    return altair.layer(spans, lines).properties(
        width=WIDTH, height=320, title=f"{name} against {axis}"
    )


def _field(name: str) -> str:
    """Dots, brackets and colons have a meaning in Vega's field names."""
    return "".join("\\" + sign if sign in ".[]:\\" else sign for sign in name)


def _varying(results: Sequence[StoredResult], axis: str) -> list[str]:
    keys = ("stage", "framework", "runtime", "device", "environment")
    return [key for key in keys if len({_value(stored, key) for stored in results}) > 1]


def _value(stored: StoredResult, key: str) -> str:
    owner: Case | Any = stored.result if key == "environment" else stored.case
    return str(getattr(owner, key))


def _line(stored: StoredResult, axis: str, varying: Sequence[str]) -> str:
    labels = [f"{name}={label_text(v)}" for name, v in stored.case.labels if name != axis]
    more = [_value(stored, key) for key in varying if key not in stored.case.axes]
    return ", ".join([*labels, *more]) or stored.case.name
