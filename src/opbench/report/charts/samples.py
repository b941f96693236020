"""The samples of one result: a row per worker start, the unit its interval rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opbench.report.charts.style import WIDTH, inline, scaled
from opbench.result import Result

if TYPE_CHECKING:
    import altair


def samples(result: Result, title: str = "") -> altair.LayerChart | None:
    """None where the result was loaded without its samples, or has none."""
    import altair

    if not result.samples:
        return None
    middle = result.estimate or result.samples[0].value
    factor, symbol = scaled(result.unit, middle)
    data = [
        {
            "start": sample.start + 1,
            "value": sample.value / factor,
            "block": "disturbed" if sample.contended else "undisturbed",
        }
        for sample in result.samples
    ]
    x = altair.X(
        "value:Q", scale=altair.Scale(zero=False), title=f"{result.metric} per call, {symbol}"
    )
    colours = altair.Scale(domain=["undisturbed", "disturbed"], range=["#0072b2", "#d55e00"])
    dots = (
        altair.Chart(inline(data))
        .mark_tick(thickness=1.5, opacity=0.6)
        .encode(
            x=x,
            y=altair.Y("start:O", title="worker start"),
            color=altair.Color("block:N", scale=colours, title=None),
        )
    )
    layers: list[altair.Chart] = [dots]
    if result.low is not None and result.high is not None:
        span = [{"low": result.low / factor, "high": result.high / factor}]
        band = altair.Chart(inline(span)).mark_rect(color="#0072b2", opacity=0.15)
        layers.insert(0, band.encode(x=altair.X("low:Q"), x2="high:Q"))
    return altair.layer(*layers).properties(width=WIDTH, height=altair.Step(18), title=title)
