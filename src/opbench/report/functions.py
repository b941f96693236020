"""Counts by function as text for a terminal: one result, or the difference of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opbench.analyse.functions import FunctionChange
from opbench.report.table import Cell, Column, Row, Table, grid

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table as Grid

#: Rows before the rest is summed up: what does not fit on a screen is not read.
SHOWN = 25


def breakdown(rows: Sequence[tuple[str, float]], shown: int = SHOWN) -> Grid:
    """Instructions per call of each function, with its share of the whole."""
    total = sum(count for _, count in rows)
    lines = [(f"{count:,.1f}", share(count, total), name) for name, count in rows[:shown]]
    if len(rows) > shown:
        rest = sum(count for _, count in rows[shown:])
        lines.append((f"{rest:,.1f}", share(rest, total), f"… {len(rows) - shown} more"))
    lines.append((f"{total:,.1f}", "", "total per call"))
    return table("instructions", "share", "function", rows=lines)


def changes(rows: Sequence[FunctionChange], shown: int = SHOWN) -> RenderableType:
    """What each function gained or lost per call, largest first."""
    from rich.text import Text

    if not rows:
        return Text("No function executes more or fewer instructions.")
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


def table(*names: str, rows: Sequence[Row]) -> Grid:
    """Names of functions are cut where the screen is narrow, numbers never."""
    columns = [
        Column(name, True, "never", max(len(name), 7 if name == "share" else 12))
        for name in names
        if name != "function"
    ]
    return grid(Table([*columns, Column("function", wrap="cut")], rows))


def share(count: float, total: float) -> str:
    return f"{count / total:.1%}" if total else ""
