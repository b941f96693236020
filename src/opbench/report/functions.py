"""Counts by function as text for a terminal: one result, or the difference of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opbench.analyse.compare import Comparison
from opbench.analyse.functions import FunctionChange, NoFunctions, changes_in
from opbench.errors import plural
from opbench.report.table import Cell, Column, Row, Table, escaped, grid, markdown

if TYPE_CHECKING:
    from rich.console import RenderableType

#: Rows before the rest is summed up: what does not fit on a screen is not read.
SHOWN = 25
#: Rows and cases of a comment on a pull request.
IN_COMMENT, CASES = 10, 5


def breakdown(
    rows: Sequence[tuple[str, float]],
    shown: int = SHOWN,
    of: float | None = None,
    named: str = "function",
) -> RenderableType:
    """Instructions per call of each function or line, with its share of the whole: of their sum,
    or `of` what was counted in all, where rows are parts of each other or not everything."""
    total = sum(count for _, count in rows) if of is None else of
    lines = [(f"{count:,.1f}", share(count, total), name) for name, count in rows[:shown]]
    if len(rows) > shown:
        rest = sum(count for _, count in rows[shown:])
        sums = (f"{rest:,.1f}", share(rest, total)) if of is None else ("", "")
        lines.append((*sums, f"… {len(rows) - shown} more"))
    lines.append((f"{total:,.1f}", "", "total per call"))
    return grid(table("instructions", "share", named, rows=lines))


def changes(rows: Sequence[FunctionChange], shown: int = SHOWN) -> RenderableType:
    """What each function gained or lost per call, largest first."""
    from rich.text import Text

    if not rows:
        return Text("No function executes more or fewer instructions.")
    return grid(_changes_table(rows, shown))


def _changes_table(rows: Sequence[FunctionChange], shown: int) -> Table:
    lines: list[Row] = [
        (
            Cell(f"{row.change:+,.1f}", "slower" if row.change > 0 else "faster"),
            f"{row.before:,.1f}",
            f"{row.after:,.1f}",
            row.function,
        )
        for row in rows[:shown]
    ]
    if len(rows) > shown:
        rest = sum(row.change for row in rows[shown:])
        lines.append((f"{rest:+,.1f}", "", "", f"… {len(rows) - shown} more"))
    total = sum(row.change for row in rows)
    lines.append((f"{total:+,.1f}", "", "", "total per call"))
    return table("change", "before", "after", "function", rows=lines)


def details(comparison: Comparison) -> list[str]:
    """Markdown: for each case whose count changed, the functions that changed it, folded away."""
    changed = {
        row.case_id
        for row in comparison.rows
        if row.metric == "instructions" and row.verdict in ("slower", "faster")
    }
    try:
        cases = [case for case in changes_in(comparison) if case.case_id in changed]
    except NoFunctions:
        return []
    parts = []
    for case in cases[:CASES]:
        title = f"functions that changed {escaped(case.case_id)}"
        parts += ["", f"<details><summary>{title}</summary>", ""]
        parts += [*markdown(_changes_table(case.rows, IN_COMMENT), escaped), "", "</details>"]
    if len(cases) > CASES:
        parts += ["", f"and {plural(len(cases) - CASES, 'more case')}"]
    return parts


def table(*names: str, rows: Sequence[Row]) -> Table:
    """Names of functions are cut where the screen is narrow, numbers never."""
    *numbers, last = names
    columns = [
        Column(name, True, "never", max(len(name), 7 if name == "share" else 12))
        for name in numbers
    ]
    return Table([*columns, Column(last, wrap="cut", code=True)], rows)


def share(count: float, total: float) -> str:
    return f"{count / total:.1%}" if total else ""
