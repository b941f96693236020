"""Two frameworks: the same benchmark on both, as a point on either side of "equal"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from opbench.errors import plural
from opbench.report.charts.chart import (
    DOT,
    EQUAL,
    LOG,
    Drawing,
    columns_of,
    layer,
    named,
    quantity,
    scaled,
    tips,
)
from opbench.store.records import StoredResult

Pair = tuple[StoredResult, StoredResult]

#: Axes that say which framework, where it is an axis.
WHICH = ("framework", "runtime")
#: More points would make the page slow; an even choice of them shows the same picture.
MOST = 3_000

_X = quantity("x", "{x}", scale=LOG)
_Y = quantity("y", "{y}", scale=LOG)
SPEC = {
    "title": "{title}",
    "height": 420,
    "layer": [
        layer({**EQUAL, "type": "line"}, "equal", x=_X, y=_Y),
        layer(
            {**DOT, "size": 40, "opacity": 0.7},
            x=_X, y=_Y, **named("less", "{names}", "takes less"),
            tooltip=tips("case", "x", "y", "ratio"),
        ),
    ],
}  # fmt: skip


def pairs(results: Sequence[StoredResult], metric: str) -> dict[tuple[str, str], list[Pair]]:
    """Benchmarks that two frameworks share, by the names of the two; the most shared first."""
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
        for across, up in combinations(sorted(members, key=order.index), 2):
            found.setdefault((across, up), []).append((members[across], members[up]))
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def frameworks(names: tuple[str, str], shared: Sequence[Pair], metric: str) -> Drawing:
    across, up = names
    values = sorted(float(stored.result.estimate or 0.0) for pair in shared for stored in pair)
    factor, symbol = scaled(shared[0][0].result.unit, values[len(values) // 2])
    ratios = [float(b.result.estimate or 0) / float(a.result.estimate or 1) for a, b in shared]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    step = max(1.0, len(shared) / MOST)
    chosen = [int(index * step) for index in range(min(len(shared), MOST))]
    points = [
        {
            "case": shared[at][1].case.id,
            "x": float(f"{(shared[at][0].result.estimate or 0.0) / factor:.5g}"),
            "y": float(f"{(shared[at][1].result.estimate or 0.0) / factor:.5g}"),
            "ratio": float(f"{ratios[at]:.4g}"),
            "less": up if ratios[at] < 1 else across,
        }
        for at in chosen
    ]
    ends = [values[0] / factor, values[-1] / factor]
    both = f"{plural(len(shared), 'benchmark')} on both"
    note = f"{both}. Geometric mean: {up} takes × {mean:.3g} of {across}."
    if len(chosen) < len(shared):
        note += f" {len(chosen):,} of them drawn."
    return Drawing(
        "frameworks",
        SPEC,
        {
            "{title}": f"{both}; {up} takes × {mean:.3g} of {across}",
            "{x}": f"{across}, {metric} in {symbol}",
            "{y}": f"{up}, {metric} in {symbol}",
            "{names}": [up, across],
        },
        {"points": columns_of(points), "equal": {"x": ends, "y": ends}},
        {"Frameworks": f"{across}, {up}", "Metric": metric},
        [shared[at][1].result for at in chosen],
        note=note,
    )
