"""A comparison for people: in the terminal, and as Markdown for a pull request."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opbench.analyse.compare import Comparison, ComparisonRow, verdict_word
from opbench.errors import first_of, plural
from opbench.report import functions
from opbench.report.naming import shortened
from opbench.report.table import (
    Cell,
    Column,
    Row,
    Table,
    console_for,
    escaped,
    grid,
    markdown,
    printed,
)
from opbench.report.units import format_change, format_percent, format_ratio, format_value

if TYPE_CHECKING:
    from opbench.report.terminal.console import Console
    from opbench.result import Result

#: A sign with the colour, in the order of `REPORTED`: not everybody sees the colour.
SIGNS = {"slower": "▲", "faster": "▼", "same": "=", "unknown": "?"}

#: Reasons of unknowns that are spelled out below the table.
REASONS = 8

#: Rows that need no action, listed in Markdown before they are folded.
FOLDED = 20


def ratio_text(row: ComparisonRow) -> str:
    if row.value is None:
        return "–"
    low, high = (row.value if end is None else end for end in (row.low, row.high))
    return format_ratio(row.value, low, high)


def change_text(row: ComparisonRow) -> str:
    return "" if row.value is None else format_change(row.value)


def show(comparison: Comparison, console: Console | None = None) -> None:
    """A table per metric, then the remarks."""
    from rich.text import Text

    console = console or console_for(sys.stdout)
    for metric in comparison.metrics:
        rows = [row for row in comparison.rows if row.metric == metric]
        several = len(comparison.metrics) > 1
        console.print(grid(_table(comparison, rows, metric if several else "")))
    for line in remarks(comparison):
        console.print(Text(line))


def _table(comparison: Comparison, rows: Sequence[ComparisonRow], metric: str) -> Table:
    """Where it gets narrow the names of cases and sides fold; numbers and verdicts never do."""
    common, short = shortened(row.case_id for row in rows)
    title = f"{common or 'case'} ({metric})" if metric else common or "case"
    sides = [[_value(getattr(row, side), row.unit) for row in rows] for side in ("base", "new")]
    names = (comparison.base, comparison.new)
    columns = [
        Column(title, wrap="fold", min_width=12),
        *(
            Column(name, number=True, wrap="fold", min_width=max(map(len, values), default=0))
            for name, values in zip(names, sides)
        ),
        Column("ratio [95 %]", number=True, wrap="never"),
        Column("smallest\ndetectable", number=True, wrap="never"),
        Column("verdict", wrap="never"),
    ]
    lines: list[Row] = [
        [
            short[row.case_id] + (" (edited)" if row.edited else ""),
            *values,
            ratio_text(row),
            format_percent(row.detectable) if row.detectable else "",
            verdict_cell(row),
        ]
        for row, *values in zip(rows, *sides)
    ]
    return Table(columns, lines, narrow=True)


def verdict_cell(row: ComparisonRow) -> Cell:
    style = row.verdict if row.verdict != "same" else ""
    return Cell(f"{SIGNS[row.verdict]} {row.word}", style)


def changes_table(
    comparison: Comparison, rows: Sequence[ComparisonRow], metrics: bool = True
) -> Table:
    """One row per case and metric, for Markdown and notebooks."""
    columns = [
        Column("case", code=True),
        *([Column("metric")] if metrics else []),
        *(Column(name, number=True) for name in (comparison.base, comparison.new)),
        Column("change", number=True),
        Column("95 %", number=True),
        Column(""),
    ]
    lines: list[Row] = [
        [
            row.case_id,
            *([row.metric] if metrics else []),
            _value(row.base, row.unit),
            _value(row.new, row.unit),
            change_text(row),
            ratio_text(row),
            verdict_cell(row),
        ]
        for row in rows
    ]
    title = f"{comparison.base} → {comparison.new}"
    return Table(columns, lines, title, remarks(comparison)[:-1], counts(comparison))


def remarks(comparison: Comparison) -> list[str]:
    """Below the table: means, reasons of unknowns, what only one side has, the count."""
    lines = [
        f"geometric mean of {mean.metric} over {mean.cases} cases: {mean.value:.4f}"
        # Bytes repeat exactly, so their mean has no interval.
        + (f" [{mean.low:.4f}, {mean.high:.4f}]" if mean.low < mean.high else "")
        for mean in comparison.means
        if mean.cases > 1
    ]
    lines += [f"{row.case_id}: {row.note}" for row in comparison.rows if row.note]
    reasons: dict[str, list[str]] = {}
    for row in comparison.of("unknown"):
        reasons.setdefault(row.reason, []).append(row.case_id)
    for reason, ids in list(reasons.items())[:REASONS]:
        lines.append(f"unknown: {first_of(ids, 1)}: {reason}")
    left = sum(len(ids) for ids in list(reasons.values())[REASONS:])
    if left:
        lines.append(f"unknown: {left} more, for reasons like these")
    for name, alone in (
        (comparison.base, comparison.only_base),
        (comparison.new, comparison.only_new),
    ):
        if alone:
            lines.append(f"only in {name}: {plural(len(alone), 'result')}, e.g. {alone[0]}")
    edited = [row.case_id for row in comparison.rows if row.edited]
    if edited:
        lines.append(f"edited in between: {first_of(edited, 1)}: the benchmark itself differs")
    return [*lines, counts(comparison)]


def counts(comparison: Comparison) -> str:
    """`1 slower, 12 same`; of several metrics, `time: 1 slower, 12 same; memory: 13 smaller`."""
    units = {row.metric: row.unit for row in comparison.rows}
    by_metric = {
        metric: ", ".join(
            f"{count} {verdict_word(verdict, unit)}"
            for verdict, count in comparison.counts_of(metric).items()
        )
        for metric, unit in units.items()
    }
    if len(by_metric) == 1:
        return next(iter(by_metric.values()))
    texts = [f"{metric}: {text}" for metric, text in by_metric.items()]
    return "; ".join(texts) or "nothing to compare"


def as_text(comparison: Comparison, width: int = 120) -> str:
    return printed(lambda console: show(comparison, console), width)


def as_markdown(comparison: Comparison) -> str:
    """What changed on top; the rest folded away, as a pull-request comment wants it."""
    changed = [row for row in comparison.rows if row.verdict in ("slower", "faster")]
    rest = [row for row in comparison.rows if row.verdict not in ("slower", "faster")]
    sides = f"{escaped(comparison.base)} → {escaped(comparison.new)}"
    parts = [f"### {sides}: {counts(comparison)}", ""]
    if changed:
        parts += markdown(changes_table(comparison, changed), escaped)
    else:
        unknown = sum(row.verdict == "unknown" for row in rest)
        open_ = f"; {unknown} of {len(rest)} could not be decided" if unknown else ""
        parts.append(f"No change detected{open_}.")
    parts += functions.details(comparison)
    if rest:
        others = plural(len(rest), "other")
        inner = markdown(changes_table(comparison, rest), escaped)
        if len(rest) > FOLDED or changed:
            parts += ["", f"<details><summary>{others}</summary>", "", *inner]
            parts += ["", "</details>"]
        else:
            parts += ["", *inner]
    parts.append("")
    parts += [f"- {escaped(line)}" for line in remarks(comparison)[:-1]]
    return "\n".join(parts).rstrip() + "\n"


def _value(result: Result | None, unit: str) -> str:
    return format_value(None if result is None else result.estimate, unit)
