"""How many times the baseline: benchmarks along one axis, the other values of the key as marks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opbench.analyse.compare import Comparison
from opbench.report.charts.style import PALETTE, inline, log

if TYPE_CHECKING:
    import altair

PANEL = {"width": 460, "height": 220}


def factors(
    comparisons: Sequence[Comparison], metric: str | None = None
) -> altair.FacetChart | None:
    """Of comparisons with one base (`mode=baseline` → `mode=hooks`, → `mode=ghost`)."""
    import altair

    metric = metric or next((row.metric for each in comparisons for row in each.rows), None)
    data: list[dict[str, Any]] = []
    for comparison in comparisons:
        for row in comparison.rows:
            if row.metric != metric or not row.value or not row.low or not row.high:
                continue
            name, at = _split(row.case_id)
            data.append(
                {
                    "benchmark": name,
                    "at": at,
                    "variant": comparison.new.partition("=")[2] or comparison.new,
                    "factor": row.value,
                    "low": row.low,
                    "high": row.high,
                }
            )
    if not data:
        return None
    base_name = comparisons[0].base
    variants = list(dict.fromkeys(str(point["variant"]) for point in data))
    places = sorted({str(point["at"]) for point in data}, key=_counted)
    base = altair.Chart().encode(
        x=altair.X("benchmark:N", title=None, axis=altair.Axis(labelAngle=-40)),
        xOffset=altair.XOffset("variant:N"),
        color=altair.Color(
            "variant:N",
            scale=altair.Scale(domain=variants, range=PALETTE),
            title=f"× {base_name}",
        ),
    )
    spans = base.mark_rule().encode(y=altair.Y("low:Q", scale=log(), title=""), y2="high:Q")
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        y=altair.Y("factor:Q", scale=log(), title=f"{metric}, × {base_name}"),
        shape=altair.Shape(
            "variant:N", scale=altair.Scale(domain=variants), title=f"× {base_name}"
        ),
        tooltip=["benchmark:N", "at:N", "variant:N", "factor:Q", "low:Q", "high:Q"],
    )
    unit = altair.Chart().mark_rule(strokeDash=[4, 3], color="gray").encode(y=altair.datum(1))
    return (
        altair.layer(unit, spans, points, data=inline(data))
        .properties(**PANEL)
        .facet(facet=altair.Facet("at:N", title=None, sort=places), columns=2)
        .properties(title=f"{metric}: factors over {base_name}")
    )


def _counted(text: str) -> list[tuple[int, str]]:
    """For sorting in the order people count in: 64 before 256."""
    return [(int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", text)]


def _split(title: str) -> tuple[str, str]:
    """`layers/linear[batch_size=16]/forward_backward` → its name, and where it was measured."""
    head, _, rest = title.partition("[")
    axes, _, stage = rest.partition("]/") if rest else ("", "", "")
    if not rest:
        head, _, stage = title.rpartition("/")
    return head.rpartition("/")[2], ", ".join(part for part in (axes, stage) if part)
