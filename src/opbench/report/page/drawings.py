"""The charts of the page: each specification once, and what fills it in pieces.

A point names the row of the table it belongs to, and what the table has (the case, its estimate,
its interval, the value of an axis) is looked up there: a hundred thousand points are then a few
bytes each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from opbench.report.charts.chart import CONFIG, Drawing
from opbench.report.charts.every import OTHERS
from opbench.report.page.packing import packed, plain
from opbench.report.page.table import Place, place_of

#: Words that the page finds from the points.
COMPUTED = ("{sizes}",)
#: Charts that are unpacked together.
PIECE = 50


def head(found: Sequence[Drawing]) -> dict[str, Any]:
    """What the page needs for its tabs and their choices: [number of the chart, value, …]."""
    tabs: dict[str, dict[str, Any]] = {}
    for number, drawing in enumerate(found):
        tab = tabs.setdefault(
            drawing.kind,
            {
                "title": drawing.kind.capitalize(),
                "names": list(drawing.choice),
                "choices": [],
                "of_case": drawing.of_case,
            },
        )
        tab["choices"].append([number, *drawing.choice.values()])
    specs = {drawing.kind: drawing.spec for drawing in found} | OTHERS
    return {"tabs": tabs, "specs": specs, "config": CONFIG, "piece": PIECE}


def pieces(
    found: Sequence[Drawing], places: Mapping[Place, int], metrics: Sequence[str]
) -> Iterator[str]:
    for start in range(0, len(found), PIECE):
        chosen = found[start : start + PIECE]
        yield packed([_filling(drawing, places, metrics) for drawing in chosen])


def _filling(
    drawing: Drawing, places: Mapping[Place, int], metrics: Sequence[str]
) -> dict[str, Any]:
    rows = [places.get(place_of(result), -1) for result in drawing.results]
    looked_up = () if -1 in rows else drawing.looked_up
    data = {
        name: {
            key: plain(values, 5)
            for key, values in columns.items()
            if name != "points" or key not in looked_up
        }
        for name, columns in drawing.data.items()
    }
    return {
        "words": {key: text for key, text in drawing.words.items() if key not in COMPUTED},
        "data": data,
        # As differences: rows of one benchmark lie evenly apart.
        "rows": [after - before for before, after in pairwise([0, *rows])],
        "metric": metrics.index(drawing.results[0].metric) if drawing.results else 0,
        "looked_up": looked_up,
        "factor": drawing.factor,
        "note": drawing.note,
    }
