"""Comparisons for programs.

    {"schema": "opbench-comparison/2",
     "comparisons": [{"base", "new",
                      "rows":  [{"case", "metric", "unit", "ratio", "low", "high", "verdict",
                                 "reason", "detectable", "design", "edited", "base", "new"}],
                      "means": [{"metric", "value", "low", "high", "cases"}],
                      "only_base": […], "only_new": […],
                      "counts": {metric: {verdict: number}}}],
     "failed": […], "unmeasured": […]}

A ratio is new ÷ base, with its 95 % interval; `base` and `new` in a row are estimates in `unit`.
What is not finite is null. `failed` lists the rows that break the gate, as [comparison, row];
`unmeasured` those it cannot judge because they were not measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from opbench.analyse.compare import Comparison, ComparisonRow
from opbench.analyse.gate import Gate
from opbench.result import Result
from opbench.store.quick_json import finite

SCHEMA = "opbench-comparison/2"


def as_json(comparisons: Sequence[Comparison], gate: Gate) -> str:
    record = {
        "schema": SCHEMA,
        "comparisons": [_comparison(comparison) for comparison in comparisons],
        "failed": _places(comparisons, lambda each: [r for r in each.rows if gate.fails(r)]),
        "unmeasured": _places(comparisons, gate.unmeasured),
    }
    text = json.dumps(finite(record), ensure_ascii=False, allow_nan=False, indent=1)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _places(
    comparisons: Sequence[Comparison], chosen: Callable[[Comparison], list[ComparisonRow]]
) -> list[list[int]]:
    return [
        [number, index]
        for number, comparison in enumerate(comparisons)
        for rows in [set(map(id, chosen(comparison)))]
        for index, row in enumerate(comparison.rows)
        if id(row) in rows
    ]


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "base": comparison.base,
        "new": comparison.new,
        "rows": [_row(row) for row in comparison.rows],
        "means": [asdict(mean) for mean in comparison.means],
        "only_base": list(comparison.only_base),
        "only_new": list(comparison.only_new),
        "counts": {metric: comparison.counts_of(metric) for metric in comparison.metrics},
    }


def _row(row: ComparisonRow) -> dict[str, Any]:
    return {
        "case": row.case_id,
        "metric": row.metric,
        "unit": row.unit,
        "ratio": row.value,
        "low": row.low,
        "high": row.high,
        "verdict": row.verdict,
        "reason": row.reason,
        "detectable": row.detectable,
        "design": row.design,
        "edited": row.edited,
        "base": _estimate(row.base),
        "new": _estimate(row.new),
    }


def _estimate(result: Result | None) -> float | None:
    return result.estimate if result is not None and result.ok else None
