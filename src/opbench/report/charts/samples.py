"""The samples of one result: a row per worker start, the unit its interval rests on."""

from __future__ import annotations

from opbench.report.charts.chart import NEAR, Drawing, layer, quantity, scaled
from opbench.result import Result

#: Samples farther than this many interquartile ranges from the quartiles are drawn at the edge: a
#: few far outliers would press the rest into a line.
FENCE = 6

_BLOCK = {
    "field": "block", "type": "nominal", "title": None,
    "scale": {"domain": ["undisturbed", "disturbed"], "range": ["var(--blue)", "var(--orange)"]},
}  # fmt: skip
SPEC = {
    "title": "{title}",
    "height": {"step": 18},
    "layer": [
        layer({"type": "rect", "color": "var(--blue)", "opacity": 0.15}, "band",
              x=quantity("low", "{x}"), x2={"field": "high"}),
        {
            **layer({"type": "tick", "thickness": 1.5, "opacity": 0.6},
                    x=quantity("at", "{x}", scale=NEAR), color=_BLOCK,
                    y={"field": "start", "type": "ordinal", "title": "worker start"}),
            "name": "sample",
            "transform": [
                {"joinaggregate": [{"op": "q1", "field": "value", "as": "q1"},
                                   {"op": "q3", "field": "value", "as": "q3"}]},
                {"calculate": f"clamp(datum.value, datum.q1 - {FENCE} * (datum.q3 - datum.q1),"
                              f" datum.q3 + {FENCE} * (datum.q3 - datum.q1))", "as": "at"},
            ],
        },
    ],
}  # fmt: skip


def samples(result: Result, title: str = "") -> Drawing | None:
    """None where the result was loaded without its samples, or has none."""
    if not result.samples:
        return None
    factor, symbol = scaled(result.unit, result.estimate or result.samples[0].value)
    known = result.low is not None and result.high is not None
    return Drawing(
        "samples",
        SPEC,
        {"{title}": title, "{x}": f"{result.metric} per call, {symbol}"},
        {
            "points": {
                "start": [sample.start + 1 for sample in result.samples],
                "value": [sample.value / factor for sample in result.samples],
                "block": ["disturbed" if s.contended else "undisturbed" for s in result.samples],
            },
            "band": {
                "low": [(result.low or 0.0) / factor] if known else [],
                "high": [(result.high or 0.0) / factor] if known else [],
            },
        },
    )
