"""A run with a baseline as a grid: sizes down, what is compared across, factor and verdict in the
cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from opbench.analyse.compare import ComparisonRow
from opbench.analyse.projection import columns, title
from opbench.analyse.within import comparisons_along
from opbench.case import Case, label_text
from opbench.report.comparison.tables import verdict_word
from opbench.report.table import Cell, Column, Row, Table
from opbench.report.units import format_interval
from opbench.result import Result
from opbench.stats.verdict import MARGIN
from opbench.store.records import StoredResult

if TYPE_CHECKING:
    from opbench.plan.groups import Baseline


def pivots(
    results: Sequence[tuple[Case, Result]], baseline: Baseline, margin: float = MARGIN
) -> list[Table]:
    """One table per metric: a row per point of the other axes, a column per value of the compared
    one, the baseline first."""
    metrics = list(dict.fromkeys(result.metric for _, result in results))
    return [
        _pivot([each for each in results if each[1].metric == metric], baseline, margin, metrics)
        for metric in metrics
    ]


def _pivot(
    results: Sequence[tuple[Case, Result]],
    baseline: Baseline,
    margin: float,
    metrics: Sequence[str],
) -> Table:
    stored = [StoredResult("", case, result) for case, result in results]
    values = columns(stored, baseline.axis)
    order = sorted(values, key=lambda value: value != baseline.value)
    compared: dict[str, Mapping[str, ComparisonRow]] = {
        comparison.new.partition("=")[2]: {row.case_id: row for row in comparison.rows}
        for comparison in comparisons_along(stored, baseline.axis, baseline.value, margin)
    }
    named = partial(title, without=baseline.axis)
    points = {named(each): _point(each.case, baseline.axis) for each in stored}
    varied = any(points.values())
    metric = stored[0].result.metric
    heading = [Column(metric if len(metrics) > 1 else "", wrap="fold")] if varied else []
    rows: list[Row] = []
    for name, point in points.items():
        row: list[Cell | str] = [point] if varied else []
        for value in order:
            here = (each.result for each in values[value] if named(each) == name)
            row.append(cell(next(here, None), compared.get(value, {}).get(name)))
        rows.append(row)
    return Table([*heading, *(Column(value, wrap="fold", min_width=16) for value in order)], rows)


def _point(case: Case, axis: str) -> str:
    return ", ".join(f"{name}={label_text(value)}" for name, value in case.labels if name != axis)


def cell(result: Result | None, row: ComparisonRow | None) -> Cell:
    if result is None:
        return Cell("")
    if not result.ok:
        return Cell(result.outcome, "muted" if result.outcome == "unsupported" else "failed")
    value = format_interval(result.estimate, result.low, result.high, result.unit)
    if row is None:
        return Cell(value)
    return Cell(factor(row), row.verdict if row.verdict != "same" else "")


def factor(row: ComparisonRow) -> str:
    """`1.02× slower [1.01, 1.03]`, `3.1× faster [2.9, 3.3]`, `same [0.99, 1.01]`."""
    if row.value is None or row.low is None or row.high is None:
        return f"{verdict_word(row.verdict, row.unit)}: {row.reason}" if row.reason else row.verdict
    value, low, high = row.value, row.low, row.high
    if row.verdict == "faster":
        value, low, high = 1 / value, 1 / high, 1 / low
    # As many digits as the interval needs to be one.
    decimals = 3 if 0 < high - low < 0.02 else 2 if value < 10 else 1 if value < 100 else 0
    interval = f" [{low:.{decimals}f}, {high:.{decimals}f}]" if low != high else ""
    word = verdict_word(row.verdict, row.unit)
    if row.verdict in ("slower", "faster"):
        return f"{value:.{decimals}f}× {word}{interval}"
    return f"{word}{interval}"
