"""How many times the baseline: benchmarks along one axis, the other values of the key as points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opbench.analyse.compare import Comparison, ComparisonRow
from opbench.report.charts.chart import (
    DOT,
    EQUAL,
    LOG,
    Drawing,
    category,
    columns_of,
    layer,
    named,
    quantity,
    tips,
)
from opbench.report.naming import counted

_PLACE = {
    "x": category("benchmark", axis={"labelAngle": -40}),
    "xOffset": category("variant"),
    **named("variant", "{variants}", "{legend}"),
}
_SPAN = {channel: each for channel, each in _PLACE.items() if channel != "shape"}
SPEC = {
    "title": "{title}",
    "height": 260,
    "layer": [
        layer(EQUAL, "one", y=quantity("one", "{y}", scale=LOG)),
        layer({"type": "rule"}, **_SPAN, y=quantity("low", "{y}", scale=LOG), y2={"field": "high"}),
        layer(
            {**DOT, "size": 45},
            **_PLACE,
            y=quantity("factor", "{y}", scale=LOG),
            tooltip=tips("case", "variant", "factor", "interval"),
        ),
    ],
}


def factors(comparisons: Sequence[Comparison], metric: str) -> Iterator[Drawing]:
    """Of comparisons with one base (`mode=baseline` → `mode=hooks`, → `mode=ghost`): a chart for
    each stage and each set of the other axes."""
    panels: dict[tuple[str, str], list[tuple[str, str, ComparisonRow]]] = {}
    bases: dict[tuple[str, str], str] = {}
    for comparison in comparisons:
        variant = comparison.new.partition("=")[2] or comparison.new
        for row in comparison.rows:
            if row.metric == metric and row.new and row.value and row.low and row.high:
                name, axes, stage = _split(row.case_id)
                panels.setdefault((stage, axes), []).append((name, variant, row))
                bases.setdefault((stage, axes), comparison.base)

    def order(key: tuple[str, str]) -> tuple[bool, tuple[tuple[int, str], ...]]:
        return key[0] != "forward_backward", counted(" ".join(key))

    for stage, axes in sorted(panels, key=order):
        if len(panels[stage, axes]) == 1:
            continue  # the table shows a single point better
        points = [
            {
                "case": row.case_id,
                "benchmark": name,
                "variant": variant,
                "factor": float(f"{row.value:.5g}"),
                "low": row.low,
                "high": row.high,
                "interval": f"[{row.low:.4g}, {row.high:.4g}]",
            }
            for name, variant, row in panels[stage, axes]
        ]
        base = bases[stage, axes]
        at = ", ".join(part for part in (axes, stage) if part)
        yield Drawing(
            "factors",
            SPEC,
            {
                "{title}": at,
                "{y}": f"{metric}, × {base}",
                "{legend}": f"vs {base}",
                "{variants}": list(dict.fromkeys(variant for _, variant, _ in panels[stage, axes])),
            },
            {"points": columns_of(points), "one": {"one": [1.0]}},
            {"Metric": metric, "Stage": stage.replace("_", " + "), "At": axes or "–"},
            [row.new for _, _, row in panels[stage, axes] if row.new],
            note=f"Interleaved with the baseline; the line at × 1 is {base}.",
        )


def _split(title: str) -> tuple[str, str, str]:
    """`layers/linear[batch_size=16]/forward_backward` → its name, its axes, its stage. Functions
    that are compared by their names have that of their group: `bench/*[group=softmax,n=64]/call`,
    or, outside of a group, their axes."""
    head, _, rest = title.partition("[")
    axes, _, stage = rest.partition("]/") if rest else ("", "", "")
    if not rest:
        head, _, stage = title.rpartition("/")
    name = head.rpartition("/")[2]
    if name == "*":
        labels = axes.split(",")
        groups = [label for label in labels if label.startswith("group=")]
        name = groups[0].partition("=")[2] if groups else axes
        axes = ",".join(label for label in labels if label not in groups) if groups else ""
    return name, axes, stage
