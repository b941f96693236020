"""Two sides compared: every case a ratio with its interval, the largest changes on top."""

from __future__ import annotations

import math

from opbench.analyse.compare import REPORTED, Comparison, ComparisonRow
from opbench.report.charts.chart import (
    DOT,
    EQUAL,
    LOG,
    SHAPES,
    Drawing,
    category,
    columns_of,
    layer,
    quantity,
    tips,
)

#: More would no longer be read, and a screen cannot hold them.
SHOWN = 40
ORDERS = {
    "largest change": lambda row: -abs(math.log(row.value)),
    "slowest first": lambda row: -row.value,
    "fastest first": lambda row: row.value,
}

_CASE = category("case", axis={"labelLimit": "{labels}"})
_COLOUR = {
    "field": "verdict", "type": "nominal", "title": None,
    "scale": {"domain": "{verdicts}", "range": "{colours}"},
}  # fmt: skip
_SHAPE = {**_COLOUR, "scale": {"domain": "{verdicts}", "range": "{shapes}"}}
_SCALE = {**LOG, "nice": False, "padding": 12}
SPEC = {
    "title": "{title}",
    "height": {"step": 22},
    "layer": [
        layer(EQUAL, "one", x=quantity("one", "{x}")),
        layer(
            {"type": "rule", "strokeWidth": 2, "opacity": 0.65},
            y=_CASE, color=_COLOUR, x=quantity("low", "{x}", scale=_SCALE), x2={"field": "high"},
        ),
        layer(
            {**DOT, "size": 70},
            y=_CASE, color=_COLOUR, shape=_SHAPE, x=quantity("ratio", "{x}"),
            tooltip=tips("case", "ratio", "interval", "verdict", "reason"),
        ),
    ],
}  # fmt: skip


def ratios(
    comparison: Comparison, metric: str | None = None, order: str = "largest change"
) -> Drawing | None:
    """Of one metric; without a name, of the first."""
    rows = [row for row in comparison.rows if _drawable(row)]
    metric = metric or next((row.metric for row in rows), None)
    rows = sorted((row for row in rows if row.metric == metric), key=ORDERS[order])
    if not rows:
        return None
    shown = rows[:SHOWN]
    points = [
        {
            "case": row.case_id,
            "ratio": float(f"{row.value:.5g}"),
            "low": row.low,
            "high": row.high,
            "interval": f"[{row.low:.4g}, {row.high:.4g}]",
            "verdict": row.verdict,
            "reason": row.reason,
        }
        for row in shown
    ]
    verdicts = [name for name in REPORTED if any(row.verdict == name for row in shown)]
    mean = next((mean for mean in comparison.means if mean.metric == metric), None)
    note = ""
    if mean is not None and mean.cases > 1:
        note = (
            f"Geometric mean × {mean.value:.3f} [{mean.low:.3f}, {mean.high:.3f}] "
            f"over {mean.cases:,} cases. "
        )
    if len(rows) > len(shown):
        note += f"{len(shown)} of {len(rows):,} cases shown."
    return Drawing(
        "ratios",
        SPEC,
        {
            "{title}": f"{comparison.base} → {comparison.new}",
            "{x}": f"{metric}: {comparison.new} ÷ {comparison.base}",
            "{labels}": 420,
            # The same colour and shape in every chart, and a legend of those that occur.
            "{verdicts}": verdicts,
            "{colours}": [f"var(--{name})" for name in verdicts],
            "{shapes}": [SHAPES[REPORTED.index(name)] for name in verdicts],
        },
        {"points": columns_of(points), "one": {"one": [1.0]}},
        {
            "Comparison": f"{comparison.base} → {comparison.new}",
            "Metric": str(metric),
            "Order": order,
        },
        [row.new for row in shown if row.new is not None],
        note=note,
    )


def _drawable(row: ComparisonRow) -> bool:
    ends = (row.value, row.low, row.high)
    return row.new is not None and all(end and end > 0 and math.isfinite(end) for end in ends)
