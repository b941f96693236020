"""The roofline as `roofline.js` draws it on the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opbench.report.page.packing import number
from opbench.report.page.table import Place, place_of
from opbench.suites.peaks.roofline import Roofline
from opbench.suites.peaks.roofline_table import place_name


def data(roofline: Roofline, rows: Mapping[Place, int]) -> dict[str, Any] | None:
    """Points as [row, operations per byte, operations per second, share of the limit]."""
    points = [point for point in roofline.points if point.intensity and point.flops]
    if not points:
        return None
    roofs = []
    for where, dtype in dict.fromkeys((p.place, p.case.dtype or "float32") for p in points):
        limit = roofline.peaks.get(where)
        if limit is not None and limit.bandwidth and limit.flops.get(dtype):
            roofs.append(
                {
                    "label": f"{dtype}, {place_name(where)}",
                    "flops": number(limit.flops[dtype]),
                    "bandwidth": number(limit.bandwidth),
                }
            )
    note = (
        "The roofs are what this machine was measured to reach: the fastest matrix product and "
        "the fastest copy."
        if roofs
        else "The limits of this machine are not known here: `opbench peaks` measures them."
    )
    shown = [
        [rows[place_of(p.result)], number(p.intensity), number(p.flops), number(p.share, 3)]
        for p in points
        if place_of(p.result) in rows
    ]
    return {"points": shown, "roofs": roofs, "note": note}
