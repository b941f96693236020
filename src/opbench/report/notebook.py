"""Results as HTML for a notebook: the tables of the terminal, printed as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from opbench.analyse.compare import Comparison, ComparisonRow
from opbench.analyse.history import History
from opbench.case import Case
from opbench.errors import plural
from opbench.report.comparison.tables import SIGNS, changes_table
from opbench.report.history import difference_text, sentence
from opbench.report.table import SHOWN, Cell, Column, Row, Table, to_html
from opbench.report.terminal.run import tables
from opbench.report.units import format_interval
from opbench.report.warnings.run_note import run_note
from opbench.result import Result

if TYPE_CHECKING:
    from opbench.plan.groups import Baseline
    from opbench.report.page.contents import Contents


def results_html(
    title: str,
    pairs: Sequence[tuple[Case, Result]],
    note: str = "",
    baseline: Baseline | None = None,
) -> str:
    of_run = run_note([result for _, result in pairs])
    own = [(case, of_run.own(result)) for case, result in pairs]
    lines = [of_run.line] if of_run.line else []
    first, *more = tables(own, baseline)
    parts = [replace(first, title=title, subtitle=note), *more]
    parts[-1] = replace(parts[-1], notes=[*parts[-1].notes, *lines])
    return "".join(map(to_html, parts))


def comparison_html(comparison: Comparison) -> str:
    """The largest changes first."""
    several = len({row.metric for row in comparison.rows}) > 1
    rows = sorted(comparison.rows, key=_most_changed)
    return to_html(changes_table(comparison, rows, several))


def _most_changed(row: ComparisonRow) -> tuple[bool, float]:
    certain = row.verdict in ("slower", "faster")
    size = max(row.value, 1 / row.value) if row.value else float("inf")
    return not certain, -size


def history_html(history: History) -> str:
    rows: list[Row] = []
    lines: list[str] = []
    for series in history.series:
        where = f"{series.environment} on {series.hardware}"
        changed = {change.index: change for change in series.changes}
        for index, point in enumerate(series.points):
            change = changed.get(index)
            value = (
                format_interval(point.estimate, point.low, point.high, history.unit)
                if point.ok
                else point.outcome
            )
            verdict = "" if change is None else "slower" if change.rises else "faster"
            note = ", ".join(difference_text(each) for each in series.notes.get(index, ()))
            sign = f"{SIGNS[verdict]} " if verdict else ""
            row: list[Cell | str] = [
                point.run.id,
                where,
                point.origin.commit[:7],
                value,
                Cell(f"{sign}{note}", verdict),
            ]
            rows.append(row)
        lines += [sentence(change, history) for change in series.changes]
    columns = [
        Column("run", code=True),
        Column("where"),
        Column("commit"),
        Column(history.metric, number=True),
        Column(""),
    ]
    notes = lines or ["No change of level."]
    title = f"{history.metric}, {plural(history.runs, 'run')}"
    return to_html(Table(columns, rows[-SHOWN:], history.case_id, notes, title))


def contents_html(contents: Contents) -> str:
    """The results of a run, then what it was compared with."""
    pairs = [(stored.case, stored.result) for stored in contents.results]
    run = contents.run
    note = plural(len(pairs), "result")
    parts = [results_html(run.name or f"Run {run.id}", pairs, note)]
    parts += [comparison_html(comparison) for comparison in contents.comparisons[:4]]
    return "<br>".join(parts)
