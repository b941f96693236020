"""Charts of the layer report with Vega-Altair: the two summaries of the published study, and one
chart per layer. A chart is an altair object; `save` writes it as PNG or SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opbench.suites.layers.factors import LAYERS, MAX_MEMORY, MODES, LayerRow, metrics_of
from opbench.suites.layers.report import TITLES

if TYPE_CHECKING:
    import altair

VARIANTS = [*(mode for mode in MODES), "dp", *(f"dp {mode}" for mode in MODES[1:])]
#: Wide enough for the modes of one layer side by side, small enough for six of them on a page.
PANEL = {"width": 420, "height": 160}


def summary(rows: Sequence[LayerRow], metric: str) -> altair.FacetChart | None:
    """Factor by layer, one group per batch size, on a logarithmic scale; 1 is torch.nn itself."""
    import altair

    data = [
        {
            "layer": row.family,
            "variant": row.variant,
            "batch size": row.batch_size,
            "factor": row.factor_nn.value,
            "low": row.factor_nn.low,
            "high": row.factor_nn.high,
            "one": 1.0,
        }
        for row in rows
        if row.metric == metric and row.factor_nn is not None
    ]
    if not data:
        return None
    used = {point["variant"] for point in data}
    shown = [variant for variant in VARIANTS if variant in used]
    base = altair.Chart().encode(
        x=altair.X("layer:N", sort=list(LAYERS), title=None, axis=altair.Axis(labelAngle=-40)),
        xOffset=altair.XOffset("variant:N", sort=shown),
        color=altair.Color("variant:N", sort=shown, title="over torch.nn"),
    )
    scale = altair.Scale(type="log")
    points = base.mark_point(filled=True, size=36).encode(
        y=altair.Y("factor:Q", scale=scale, title="factor")
    )
    spans = base.mark_rule().encode(y=altair.Y("low:Q", scale=scale, title=""), y2="high:Q")
    unit = altair.Chart().mark_rule(strokeDash=[3, 3], color="gray").encode(y="one:Q")
    return (
        altair.layer(unit, spans, points, data=_inline(data))
        .properties(**PANEL)
        .facet(facet=altair.Facet("batch size:O", title="batch size"), columns=2)
        .properties(title=f"{TITLES.get(metric, metric)}: factor over torch.nn")
    )


def layer_chart(rows: Sequence[LayerRow], layer: str) -> altair.HConcatChart | None:
    """One layer and its DP version: each metric against the batch size, one line per mode."""
    import altair

    own = [row for row in rows if row.family == layer and row.estimate is not None]
    panels = []
    for metric in metrics_of(own):
        bytes_ = metric == MAX_MEMORY
        scale = 1e-6 if bytes_ else 1e3
        data = [
            {
                "batch size": row.batch_size,
                "variant": row.variant,
                "value": (row.estimate or 0) * scale,
                "low": (row.low or 0) * scale,
                "high": (row.high or 0) * scale,
            }
            for row in own
            if row.metric == metric
        ]
        base = altair.Chart(_inline(data)).encode(
            x=altair.X("batch size:Q", scale=altair.Scale(type="log", base=2)),
            color=altair.Color("variant:N", sort=VARIANTS, title=None),
        )
        axis = altair.Y(
            "value:Q", scale=altair.Scale(type="log"), title="MB" if bytes_ else "ms per step"
        )
        lines = base.mark_line(point=True).encode(y=axis)
        spans = base.mark_rule().encode(y="low:Q", y2="high:Q")
        panels.append((spans + lines).properties(title=TITLES.get(metric, metric), **PANEL))
    if not panels:
        return None
    return altair.hconcat(*panels).properties(title=layer)


def charts(rows: Sequence[LayerRow]) -> dict[str, Any]:
    """Every chart of the report by the name of its file; of the whole step where there is one."""
    steps = [row for row in rows if row.stage == "forward_backward"] or list(rows)
    found: dict[str, Any] = {}
    for metric in metrics_of(steps):
        found[f"factor_{metric}"] = summary(steps, metric)
    for layer in dict.fromkeys(row.family for row in steps):
        found[f"layer_{layer}"] = layer_chart(steps, layer)
    return {name: chart for name, chart in found.items() if chart is not None}


def save(
    rows: Sequence[LayerRow], folder: Path, formats: Sequence[str] = ("png", "svg")
) -> list[Path]:
    """Write every chart in every format; the folder is made when it is missing."""
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, chart in charts(rows).items():
        for kind in formats:
            path = folder / f"{name}.{kind}"
            # Twice the pixels: charts are shown on dense screens and in print.
            chart.save(str(path), **({"scale_factor": 2.0} if kind == "png" else {}))
            written.append(path)
    return written


def _inline(data: list[dict[str, Any]]) -> Any:
    import altair

    return altair.InlineData(values=data)
