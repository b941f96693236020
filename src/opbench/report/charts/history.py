"""A case over all runs: its points, its levels, and where they changed."""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from opbench.analyse.history import Series
from opbench.report.charts.style import VERDICTS, WIDTH, inline, scaled

if TYPE_CHECKING:
    import altair


def history(series: Series) -> altair.LayerChart | None:
    import altair

    good = [(index, row) for index, row in enumerate(series.points) if row.ok]
    if len(good) < 2:
        return None
    middle = median(float(row.estimate or 0.0) for _, row in good)
    factor, symbol = scaled(series.unit, middle)
    points: list[dict[str, Any]] = []
    for index, row in good:
        day = datetime.fromtimestamp(row.run.created, tz=timezone.utc)
        point = {
            "run": index,
            "value": (row.estimate or 0.0) / factor,
            "when": day.strftime("%Y-%m-%d %H:%M"),
            "id": row.run.id,
            "commit": row.origin.commit[:10],
        }
        if row.low is not None and row.high is not None:
            point |= {"low": row.low / factor, "high": row.high / factor}
        points.append(point)
    edges = [0, *(change.index for change in series.changes), len(series.points)]
    levels = []
    for start, end in pairwise(edges):
        own = [float(row.estimate or 0.0) for index, row in good if start <= index < end]
        if own:
            levels.append({"from": start - 0.5, "to": end - 0.5, "level": median(own) / factor})
    axis = altair.Y("value:Q", scale=altair.Scale(zero=False), title=f"{series.metric}, {symbol}")
    x = altair.X("run:Q", title="run, oldest first", scale=altair.Scale(nice=False, padding=12))
    base = altair.Chart(inline(points)).encode(x=x)
    layers: list[Any] = [
        altair.Chart(inline(levels))
        .mark_rule(color="#8b9098", strokeWidth=2)
        .encode(x="from:Q", x2="to:Q", y=altair.Y("level:Q", scale=altair.Scale(zero=False))),
        base.mark_rule(color="#0072b2", opacity=0.5).encode(
            y=altair.Y("low:Q", scale=altair.Scale(zero=False), title=""), y2="high:Q"
        ),
        base.mark_point(filled=True, color="#0072b2", size=40, opacity=1).encode(
            y=axis, tooltip=["when:N", "id:N", "commit:N", "value:Q"]
        ),
    ]
    if series.changes:
        layers.append(_changes(series))
    machine = ", ".join(part for part in (series.hardware, series.environment) if part)
    title = altair.TitleParams(series.case_id, subtitle=machine)
    return altair.layer(*layers).properties(width=WIDTH, height=280, title=title)


def _changes(series: Series) -> Any:
    import altair

    data = [
        {
            "at": change.index - 0.5,
            "kind": "slower" if change.rises else "faster",
            "text": f"× {change.ratio:.3g}" if change.ratio else "",
        }
        for change in series.changes
    ]
    names = ["slower", "faster"]
    colours = altair.Scale(domain=names, range=[VERDICTS[name] for name in names])
    base = altair.Chart(inline(data)).encode(
        x="at:Q", color=altair.Color("kind:N", scale=colours, title="change")
    )
    words = base.mark_text(align="left", dx=4, baseline="top", fontWeight="bold")
    return altair.layer(base.mark_rule(), words.encode(text="text:N", y=altair.value(2)))
