"""Two sides against each other: every case a ratio with its interval, largest changes on top."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from opbench.analyse.compare import Comparison
from opbench.report.charts.style import WIDTH, inline, log, verdict_scales

if TYPE_CHECKING:
    import altair

#: More would no longer be read, and a page cannot hold them.
SHOWN = 40


def ratios(
    comparison: Comparison, metric: str | None = None, shown: int = SHOWN
) -> altair.LayerChart | None:
    import altair

    rows = [row for row in comparison.rows if row.value and row.low and row.high]
    metric = metric or next((row.metric for row in rows), None)
    rows = [row for row in rows if row.metric == metric and math.isfinite(row.high or 0.0)]
    if not rows:
        return None
    rows = sorted(rows, key=lambda row: -abs(math.log(row.value or 1.0)))[:shown]
    data = [
        {
            "case": row.case_id,
            "ratio": row.value,
            "low": row.low,
            "high": row.high,
            "verdict": row.verdict,
            "one": 1.0,
        }
        for row in rows
    ]
    colours, shapes = verdict_scales()
    y = altair.Y(
        "case:N",
        sort=[str(each["case"]) for each in data],
        title=None,
        axis=altair.Axis(labelLimit=420),
    )
    title = f"{metric}: {comparison.new} ÷ {comparison.base}"
    base = altair.Chart(inline(data)).encode(
        y=y, color=altair.Color("verdict:N", scale=colours, title="verdict")
    )
    spans = base.mark_rule(strokeWidth=2, opacity=0.65).encode(
        x=altair.X("low:Q", scale=log(nice=False, padding=12), title=title), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=altair.X("ratio:Q", title=title),
        shape=altair.Shape("verdict:N", scale=shapes, title="verdict"),
        tooltip=["case:N", "ratio:Q", "low:Q", "high:Q", "verdict:N"],
    )
    unit = (
        altair.Chart(inline([{"one": 1.0}]))
        .mark_rule(strokeDash=[4, 3], color="gray")
        .encode(x="one:Q")
    )
    return altair.layer(unit, spans, points).properties(
        width=WIDTH, height=altair.Step(20), title=f"{comparison.base} → {comparison.new}"
    )
