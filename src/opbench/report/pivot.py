"""A run with a baseline as a grid: sizes down, what is compared across, factor and verdict in the
cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from opbench.analyse.compare import ComparisonRow
from opbench.analyse.projection import columns, title
from opbench.analyse.within import by_base, comparisons_along
from opbench.case import Case, label_text
from opbench.errors import first_of
from opbench.report.comparison.tables import verdict_word
from opbench.report.naming import brief, shortened
from opbench.report.table import Cell, Column, Row, Table
from opbench.report.units import format_interval
from opbench.result import Result
from opbench.stats.verdict import MARGIN
from opbench.store.records import StoredResult

if TYPE_CHECKING:
    from opbench.plan.groups import Baseline

#: Stages that a time is of unless something else is said.
PLAIN = {"forward", "call"}


def pivots(
    results: Sequence[tuple[Case, Result]], baseline: Baseline, margin: float = MARGIN
) -> list[Table]:
    """One table per metric: a row per point of the other axes, a column per value of the compared
    one, the baseline first. Groups of benchmarks that are compared by name have tables of their
    own."""
    metrics = list(dict.fromkeys(result.metric for _, result in results))
    tables = []
    for base, members in by_base(results, baseline)[0].items():
        for metric in metrics:
            here = [StoredResult("", *each) for each in members if each[1].metric == metric]
            if here:
                words = [metric] if len(metrics) > 1 else []
                stages = {each.case.stage for each in here}
                words += [*stages] if len(stages) == 1 and not stages <= PLAIN else []
                tables.append(_pivot(here, baseline.axis, base, margin, ", ".join(words)))
    return tables


def _pivot(
    stored: Sequence[StoredResult], axis: str, base: str, margin: float, heading: str
) -> Table:
    values = columns(stored, axis)
    order = sorted(values, key=lambda value: value != base)
    heads = brief(order)
    compared: dict[str, Mapping[str, ComparisonRow]] = {
        comparison.new.partition("=")[2]: {row.case_id: row for row in comparison.rows}
        for comparison in comparisons_along(stored, axis, (base,), margin)
    }
    named = partial(title, without=axis)
    titles = {named(each): each.case for each in stored}
    _, short = shortened(titles)
    if len(titles) == 1:
        short = {name: _point(case, axis) for name, case in titles.items()}
    headed = heading or any(short.values())
    rows: list[Row] = []
    for name in titles:
        row: list[Cell | str] = [short[name]] if headed else []
        for value in order:
            here = (each.result for each in values[value] if named(each) == name)
            row.append(cell(next(here, None), compared.get(value, {}).get(name)))
        rows.append(row)
    first = [Column(heading, wrap="fold")] if headed else []
    across = [Column(heads[value], wrap="fold", min_width=16) for value in order]
    notes = _reasons(compared, heads, short)
    return Table([*first, *across], rows, notes=notes, labels=len(first))


def _reasons(
    compared: Mapping[str, Mapping[str, ComparisonRow]],
    heads: Mapping[str, str],
    short: Mapping[str, str],
) -> list[str]:
    """Why a verdict is unknown: each reason once, with the first cell that has it."""
    found: dict[str, list[str]] = {}
    for value, rows in compared.items():
        for name, row in rows.items():
            # Of what failed the reason stands with the other failures.
            measured = all(side is not None and side.ok for side in (row.base, row.new))
            if row.verdict == "unknown" and row.reason and measured:
                where = ", ".join(part for part in (heads[value], short.get(name, "")) if part)
                found.setdefault(row.reason, []).append(where)
    return [f"unknown: {first_of(where, 1)}: {reason}" for reason, where in found.items()]


def _point(case: Case, axis: str) -> str:
    """The axes of a single row, less the compared one and the group, which the columns show."""
    labels = [(name, value) for name, value in case.labels if name not in (axis, "group")]
    return ", ".join(f"{name}={label_text(value)}" for name, value in labels)


def cell(result: Result | None, row: ComparisonRow | None) -> Cell:
    if result is None:
        return Cell("")
    if not result.ok:
        return Cell(result.outcome, "muted" if result.outcome == "unsupported" else "failed")
    value = format_interval(result.estimate, result.low, result.high, result.unit)
    if row is None or (row.base is not None and not row.base.ok):
        return Cell(value)
    return Cell(factor(row), row.verdict if row.verdict != "same" else "")


def factor(row: ComparisonRow) -> str:
    """`1.02× slower [1.01, 1.03]`, `3.1× faster [2.9, 3.3]`, `same [0.99, 1.01]`; what is unknown,
    and would be a change otherwise, as that change: `unknown (1.3× faster [1.2, 1.4])`."""
    if row.value is None or row.low is None or row.high is None:
        return verdict_word(row.verdict, row.unit)
    value, low, high = row.value, row.low, row.high
    changed = row.verdict if row.verdict in ("slower", "faster") else ""
    if row.verdict == "unknown" and (low > 1 or 0 < high < 1):
        changed = "slower" if low > 1 else "faster"
    if changed == "faster":
        value, low, high = 1 / value, 1 / high, 1 / low
    # As many digits as the interval needs to be one.
    decimals = 3 if 0 < high - low < 0.02 else 2 if value < 10 else 1 if value < 100 else 0
    while changed and value != 1 and round(value, decimals) == 1 and decimals < 6:
        decimals += 1  # a change of bytes may be tiny and certain, and `1.00× smaller` is none
    interval = f" [{low:.{decimals}f}, {high:.{decimals}f}]" if low != high else ""
    word = verdict_word(changed or row.verdict, row.unit)
    text = f"{value:.{decimals}f}× {word}{interval}" if changed else f"{word}{interval}"
    return f"unknown ({text})" if changed and row.verdict == "unknown" else text
