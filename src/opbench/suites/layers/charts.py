"""Charts of the layer report: the two summaries of the published study, and one chart per layer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opbench.report.charts.chart import (
    DOT,
    EQUAL,
    LOG,
    Chart,
    Drawing,
    category,
    columns_of,
    layer,
    quantity,
    save_all,
    side_by_side,
)
from opbench.suites.layers.factors import LAYERS, MAX_MEMORY, MODES, LayerRow, metrics_of
from opbench.suites.layers.report import TITLES

VARIANTS = [*MODES, "dp", *(f"dp {mode}" for mode in MODES[1:])]
#: Wide enough for the modes of one layer side by side, small enough for six of them on a page.
PANEL = {"width": 420, "height": 160}

_PLACE = {
    "x": category("layer", sort=list(LAYERS), axis={"labelAngle": -40}),
    "xOffset": category("variant", sort="{variants}"),
    "color": category("variant", "vs torch.nn", sort="{variants}"),
}
SUMMARY = {
    "title": "{title}",
    **PANEL,
    "layer": [
        layer(EQUAL, "one", y=quantity("one", "factor", scale=LOG)),
        layer({"type": "rule"}, **_PLACE, y=quantity("low", "factor", scale=LOG),
              y2={"field": "high"}),
        layer({**DOT, "size": 36}, **_PLACE, y=quantity("factor", "factor", scale=LOG)),
    ],
}  # fmt: skip

_X = quantity("batch size", "batch size", scale={"type": "log", "base": 2})
_COLOUR = category("variant", sort=VARIANTS)
LAYER = {
    "title": "{title}",
    **PANEL,
    "layer": [
        layer({"type": "rule"}, x=_X, color=_COLOUR, y=quantity("low", "{y}", scale=LOG),
              y2={"field": "high"}),
        layer({"type": "line", "point": True}, x=_X, color=_COLOUR,
              y=quantity("value", "{y}", scale=LOG)),
    ],
}  # fmt: skip


def summary(rows: Sequence[LayerRow], metric: str) -> Chart | None:
    """Factor by layer, one group per batch size, on a logarithmic scale; 1 is torch.nn itself."""
    known = [row for row in rows if row.metric == metric and row.factor_nn is not None]
    if not known:
        return None
    used = {row.variant for row in known}
    panels = []
    for size in sorted({row.batch_size for row in known}):
        data = [
            {
                "layer": row.family,
                "variant": row.variant,
                "factor": row.factor_nn.value,
                "low": row.factor_nn.low,
                "high": row.factor_nn.high,
            }
            for row in known
            if row.batch_size == size and row.factor_nn is not None
        ]
        words = {
            "{title}": f"batch size {size}",
            "{variants}": [variant for variant in VARIANTS if variant in used],
        }
        points = {"points": columns_of(data), "one": {"one": [1.0]}}
        panels.append(Drawing("layers", SUMMARY, words, points).chart(**PANEL))
    return side_by_side(panels, f"{TITLES.get(metric, metric)}: factor over torch.nn")


def layer_chart(rows: Sequence[LayerRow], family: str) -> Chart | None:
    """One layer and its DP version: each metric over the batch size, one line per mode."""
    own = [row for row in rows if row.family == family and row.estimate is not None]
    panels = []
    for metric in metrics_of(own):
        bytes_ = metric == MAX_MEMORY
        scale = 1e-6 if bytes_ else 1e3
        data = [
            {
                "batch size": row.batch_size,
                "variant": row.variant,
                "value": (row.estimate or 0) * scale,
                "low": (row.low or row.estimate or 0) * scale,
                "high": (row.high or row.estimate or 0) * scale,
            }
            for row in own
            if row.metric == metric
        ]
        words = {
            "{title}": TITLES.get(metric, metric),
            "{y}": "MB" if bytes_ else "ms per step",
        }
        points = {"points": columns_of(data)}
        panels.append(Drawing("layers", LAYER, words, points).chart(**PANEL))
    return side_by_side(panels, family) if panels else None


def charts(rows: Sequence[LayerRow]) -> dict[str, Chart]:
    """Every chart of the report by the name of its file; of the whole step if it was measured."""
    steps = [row for row in rows if row.stage == "forward_backward"] or list(rows)
    by_name = {f"factor_{metric}": summary(steps, metric) for metric in metrics_of(steps)}
    for family in dict.fromkeys(row.family for row in steps):
        by_name[f"layer_{family}"] = layer_chart(steps, family)
    return {name: chart for name, chart in by_name.items() if chart is not None}


def save(
    rows: Sequence[LayerRow], folder: Path, formats: Sequence[str] = ("png", "svg")
) -> list[Path]:
    """Write every chart in every format; the folder is made when it is missing."""
    return save_all(charts(rows), folder, formats)
