"""Framework against framework: the same benchmark on both, as a point on either side of "equal"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from opbench.report.charts.style import inline, log, palette, scaled
from opbench.store.records import StoredResult

if TYPE_CHECKING:
    import altair

Pair = tuple[StoredResult, StoredResult]

#: Axes that say which framework, where it is an axis.
WHICH = ("framework", "runtime")


def pairs(results: Sequence[StoredResult], metric: str) -> dict[tuple[str, str], list[Pair]]:
    """Benchmarks that two frameworks share, by the names of the two."""
    same: dict[Any, dict[str, StoredResult]] = {}
    for stored in results:
        case, result = stored.case, stored.result
        if result.metric != metric or not result.ok or not (result.estimate or 0) > 0:
            continue
        labels = tuple(pair for pair in case.labels if pair[0] not in WHICH)
        key = (case.suite, case.name, case.stage, case.device, case.threads, labels)
        same.setdefault(key, {}).setdefault(case.framework, stored)
    # In order of appearance, so that a pair has one name and not two.
    order = list(dict.fromkeys(stored.case.framework for stored in results))
    found: dict[tuple[str, str], list[Pair]] = {}
    for members in same.values():
        for one, other in combinations(sorted(members, key=order.index), 2):
            found.setdefault((one, other), []).append((members[one], members[other]))
    return found


def frameworks(
    results: Sequence[StoredResult], names: tuple[str, str] | None = None, metric: str = "time"
) -> altair.LayerChart | None:
    """Of two frameworks; without names, of the two that share the most."""
    import altair

    found = pairs(results, metric)
    if not found:
        return None
    names = names or max(found, key=lambda key: len(found[key]))
    shared = found.get(names) or [(b, a) for a, b in found.get((names[1], names[0]), [])]
    if not shared:
        return None
    across, up = names
    values = sorted(float(stored.result.estimate or 0.0) for pair in shared for stored in pair)
    unit = shared[0][0].result.unit
    factor, symbol = scaled(unit, values[len(values) // 2])
    data: list[dict[str, Any]] = [
        {
            "x": (one.result.estimate or 0.0) / factor,
            "y": (other.result.estimate or 0.0) / factor,
            "case": other.case.id,
            "less": up if (other.result.estimate or 0) < (one.result.estimate or 0) else across,
        }
        for one, other in shared
    ]
    ends = [values[0] / factor, values[-1] / factor]
    mean = math.exp(sum(math.log(each["y"] / each["x"]) for each in data) / len(data))
    points = (
        altair.Chart(inline(data))
        .mark_point(filled=True, size=40, opacity=0.7)
        .encode(
            x=altair.X("x:Q", scale=log(), title=f"{across}, {metric} in {symbol}"),
            y=altair.Y("y:Q", scale=log(), title=f"{up}, {metric} in {symbol}"),
            color=altair.Color("less:N", scale=palette(), title="takes less"),
            shape=altair.Shape("less:N", title="takes less"),
            tooltip=["case:N", "x:Q", "y:Q"],
        )
    )
    equal = (
        altair.Chart(inline([{"x": end, "y": end} for end in ends]))
        .mark_line(strokeDash=[4, 3], color="gray")
        .encode(x="x:Q", y="y:Q")
    )
    title = f"{len(data)} benchmarks on both; {up} takes × {mean:.3g} of {across} on average"
    return altair.layer(equal, points).properties(width=460, height=460, title=title)
