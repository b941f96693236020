"""Charts of the layer report: two summaries, one chart for each layer, and a figure for a paper.

In all of them a mode has one colour and a kind of layer (torch.nn, DP, a user's own) one shape, in
every picture the same, whatever else is in it. Published values are open marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opbench.report.charts.chart import (
    DOT,
    EQUAL,
    LOG,
    Chart,
    Drawing,
    Spec,
    category,
    columns_of,
    layer,
    quantity,
    save_all,
    side_by_side,
)
from opbench.suites.layers.factors import LAYERS, MAX_MEMORY, MODES, LayerRow, metrics_of
from opbench.suites.layers.factors_published import Published
from opbench.suites.layers.report import TITLES, published_factor

#: Six of them fit on a page.
PANEL = {"width": 260, "height": 190}
COLUMNS = 3

#: Of Okabe and Ito's palette, as the page's style sheet has it: the modes in their order, then
#: modes of users.
# The page's last colour is the first of those: the two before it are hard to tell from hooks.
COLOURS = [f"var(--c{index})" for index in (0, 1, 2, 3, 4, 7, 5, 6)]
KINDS = {"torch.nn": "circle", "DP": "diamond", "own": "square"}
OPEN = {"type": "point", "filled": False, "opacity": 1, "strokeWidth": 1.2}


@dataclass(frozen=True)
class Looks:
    """Colours and shapes of everything a report draws."""

    modes: tuple[str, ...]

    @classmethod
    def of(cls, rows: Sequence[LayerRow]) -> Looks:
        own = sorted({row.mode for row in rows} - set(MODES))
        return cls((*MODES, *own))

    def channels(self, used: Sequence[LayerRow]) -> dict[str, Spec]:
        """The legend shows what is used; the colours are those of all."""
        modes = {row.mode for row in used}
        shown = [mode for mode in self.modes if mode in modes]
        kinds = [kind for kind in KINDS if any(kind_of(row) == kind for row in used)]
        colours = [COLOURS[self.modes.index(mode) % len(COLOURS)] for mode in shown]
        return {
            "color": category("mode", scale={"domain": shown, "range": colours}),
            "shape": category(
                "kind",
                "layer of",
                scale={"domain": kinds, "range": [KINDS[kind] for kind in kinds]},
                **({"legend": None} if len(kinds) < 2 else {}),
            ),
        }


def kind_of(row: LayerRow) -> str:
    if not row.stands_in:
        return "torch.nn"
    return "DP" if row.layer in LAYERS else "own"


def point(row: LayerRow, against: Published | None) -> dict[str, Any]:
    """A factor with its interval, and the published one, where there is one."""
    factor = row.factor_nn
    assert factor is not None
    return {
        "layer": row.panel,
        "batch": row.batch_size,
        "mode": row.mode,
        "kind": kind_of(row),
        "factor": factor.value,
        "low": factor.low,
        "high": factor.high,
        "published": published_factor(row, against),
    }


def factor_scale(points: Sequence[dict[str, Any]]) -> Spec:
    """One logarithmic scale for all panels of a picture."""
    ends = [1.0, *(p[name] for p in points for name in ("low", "high", "factor"))]
    return log_scale([*ends, *(p["published"] for p in points if p["published"] is not None)])


def log_scale(values: Sequence[float]) -> Spec:
    """One that shows them all. What is drawn below it, as an interval that reaches zero, ends at
    its edge."""
    shown = [value for value in values if value > 0]
    return {**LOG, "domain": [min(shown) / 1.15, max(shown) * 1.15], "nice": False}


def factor_layers(
    looks: dict[str, Spec],
    along: dict[str, Spec],
    axis: str,
    scale: Spec,
    *,
    size: int,
    line: bool = False,
    title: str | None = "× torch.nn",
) -> list[Spec]:
    """A dashed line at 1, intervals, our values, published ones. `axis` has the factors."""
    value = quantity("factor", title, scale=scale)
    marks = [
        layer(EQUAL, "one", **{axis: quantity("one", title, scale=scale)}),
        layer(
            {"type": "rule", "strokeWidth": 1},
            **along,
            color=looks["color"],
            **{axis: quantity("low", title, scale=scale), f"{axis}2": {"field": "high"}},
        ),
    ]
    if line:
        joined = {**looks, "detail": [category("kind"), category("mode")]}
        joined.pop("shape")
        marks.append(layer({"type": "line", "strokeWidth": 1}, **along, **joined, **{axis: value}))
    marks += [
        layer(
            {**OPEN, "size": size * 1.6},
            "published",
            **along,
            **looks,
            **{axis: quantity("published", title, scale=scale)},
        ),
        layer({**DOT, "size": size}, **along, **looks, **{axis: value}),
    ]
    return marks


def data_of(points: Sequence[dict[str, Any]]) -> dict[str, Any]:
    known = [each for each in points if each["published"] is not None]
    return {
        "points": columns_of(points),
        "published": columns_of(known),
        "one": {"one": [1.0]},
    }


def summary(
    rows: Sequence[LayerRow], metric: str, against: Published | None = None
) -> Chart | None:
    """Factor by layer, one panel per batch size, on a logarithmic scale; 1 is torch.nn itself."""
    known = [row for row in rows if row.metric == metric and row.factor_nn is not None]
    if not known:
        return None
    looks = Looks.of(rows).channels(known)
    families = list(dict.fromkeys(row.panel for row in known))
    scale = factor_scale([point(row, against) for row in known])
    panels = []
    for size in sorted({row.batch_size for row in known}):
        points = [point(row, against) for row in known if row.batch_size == size]
        along = {"y": category("layer", scale={"domain": families})}
        marks = factor_layers(looks, along, "x", scale, size=36)
        spec = {"title": f"batch size {size}", "layer": marks}
        panels.append(Drawing("layers", spec, {}, data_of(points)).chart(**PANEL))
    title = f"{TITLES.get(metric, metric)}: factor over torch.nn" + open_marks(panels)
    return side_by_side(panels, title, min(COLUMNS, len(panels)))


def open_marks(panels: Sequence[Chart]) -> str:
    drawn = any(panel.spec["datasets"]["published"] for panel in panels)
    return " (open marks: published)" if drawn else ""


def batch_sizes(points: Sequence[dict[str, Any]], title: str | None = "batch size") -> Spec:
    """An axis with a tick for each batch size that was measured."""
    return quantity(
        "batch",
        title,
        scale={"type": "log", "base": 2, "padding": 6},
        axis={
            "values": sorted({each["batch"] for each in points}),
            "format": "d",
            "labelOverlap": True,
            "grid": False,
        },
    )


def layer_chart(rows: Sequence[LayerRow], name: str) -> Chart | None:
    """One layer and its DP version: each metric over the batch size, one line per mode."""
    own = [row for row in rows if row.panel == name and row.estimate is not None]
    looks = Looks.of(rows).channels(own)
    panels = []
    for metric in metrics_of(own):
        bytes_ = metric == MAX_MEMORY
        factor, unit = (1e-6, "MB") if bytes_ else (1e3, "ms per step")
        data: list[dict[str, Any]] = [
            {
                "batch": row.batch_size,
                "mode": row.mode,
                "kind": kind_of(row),
                "value": (row.estimate or 0) * factor,
                "low": (row.low or row.estimate or 0) * factor,
                "high": (row.high or row.estimate or 0) * factor,
            }
            for row in own
            if row.metric == metric
        ]
        ends = [each[end] for each in data for end in ("low", "value", "high")]
        scale, x = log_scale(ends), batch_sizes(data)
        data = [{**each, "low": max(each["low"], scale["domain"][0])} for each in data]
        joined = {"color": looks["color"], "detail": [category("kind"), category("mode")]}
        spec = {
            "title": TITLES.get(metric, metric),
            "layer": [
                layer({"type": "rule"}, x=x, color=looks["color"],
                      y=quantity("low", unit, scale=scale), y2={"field": "high"}),
                layer({"type": "line"}, x=x, **joined, y=quantity("value", unit, scale=scale)),
                layer({**DOT, "size": 40}, x=x, **looks, y=quantity("value", unit, scale=scale)),
            ],
        }  # fmt: skip
        panels.append(Drawing("layers", spec, {}, {"points": columns_of(data)}).chart(**PANEL))
    return side_by_side(panels, name, min(2, len(panels))) if panels else None


def charts(rows: Sequence[LayerRow], against: Published | None = None) -> dict[str, Chart]:
    """Every chart of the report by the name of its file; of the whole step if it was measured."""
    steps = [row for row in rows if row.stage == "forward_backward"] or list(rows)
    by_name = {f"factor_{metric}": summary(steps, metric, against) for metric in metrics_of(steps)}
    for name in dict.fromkeys(row.panel for row in steps):
        by_name[f"layer_{name}"] = layer_chart(steps, name)
    return {name: chart for name, chart in by_name.items() if chart is not None}


def save(
    rows: Sequence[LayerRow],
    folder: Path,
    formats: Sequence[str] = ("png", "svg"),
    against: Published | None = None,
) -> list[Path]:
    """Write every chart in every format; the folder is made when it is missing."""
    return save_all(charts(rows, against), folder, formats)
