"""Counts by function as text for a terminal: one result, or the difference of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opbench.analyse.functions import FunctionChange

if TYPE_CHECKING:
    from rich.console import RenderableType

#: Rows before the rest is summed up: what does not fit on a screen is not read.
SHOWN = 25


def breakdown(rows: Sequence[tuple[str, float]], shown: int = SHOWN) -> RenderableType:
    """Instructions per call of each function, with its share of the whole."""
    from rich.text import Text

    total = sum(count for _, count in rows)
    grid = table("instructions", "share", "function")
    for name, count in rows[:shown]:
        grid.add_row(f"{count:,.1f}", share(count, total), Text(name, overflow="ellipsis"))
    if len(rows) > shown:
        rest = sum(count for _, count in rows[shown:])
        grid.add_row(f"{rest:,.1f}", share(rest, total), f"… {len(rows) - shown} more")
    grid.add_row(f"{total:,.1f}", "", "in all, per call")
    return grid


def changes(rows: Sequence[FunctionChange], shown: int = SHOWN) -> RenderableType:
    """What each function gained or lost per call, largest first."""
    from rich.text import Text

    if not rows:
        return Text("No function executes more or fewer instructions.")
    grid = table("change", "before", "after", "function")
    for row in rows[:shown]:
        style = "red" if row.change > 0 else "green"
        grid.add_row(
            Text(f"{row.change:+,.1f}", style=style),
            f"{row.before:,.1f}",
            f"{row.after:,.1f}",
            Text(row.function, overflow="ellipsis"),
        )
    if len(rows) > shown:
        rest = sum(row.change for row in rows[shown:])
        grid.add_row(f"{rest:+,.1f}", "", "", f"… {len(rows) - shown} more")
    total = sum(row.change for row in rows)
    grid.add_row(f"{total:+,.1f}", "", "", "in all, per call")
    return grid


def table(*columns: str):  # type: ignore[no-untyped-def]
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        name = column == "function"
        # Names are cut where the screen is narrow, numbers never.
        width = None if name else max(len(column), 7 if column == "share" else 12)
        grid.add_column(column, justify="left" if name else "right", no_wrap=True, min_width=width)
    return grid


def share(count: float, total: float) -> str:
    return f"{count / total:.1%}" if total else ""
