"""A report as titled tables of text, drawn last: the terminal and Markdown say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from opbench.report.export.md import cell

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Table:
    title: str
    header: list[str]
    rows: list[list[str]]
    #: Columns of words; the others are numbers, to the right.
    words: int = 2
    notes: list[str] = field(default_factory=list)


def to_terminal(
    tables: Sequence[Table], refusals: Sequence[str], console: Console, *, wrap: bool = False
) -> None:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    for table in tables:
        console.print(Text(table.title, style="bold"))
        grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
        for index, name in enumerate(table.header):
            side = "left" if index < table.words else "right"
            grid.add_column(name, justify=side, no_wrap=not wrap)  # type: ignore[arg-type]
        for row in table.rows:
            grid.add_row(*map(Text, row))
        console.print(grid)
        for note in table.notes:
            console.print(Text(note, style="dim"))
    for line in refusals:
        console.print(Text(line, style="dim"))


def to_markdown(
    title: str,
    tables: Sequence[Table],
    refusals: Sequence[str],
    stream: TextIO,
    environment: Sequence[str] = (),
) -> None:
    stream.write(f"# {title}\n")
    if environment:
        stream.write("\n" + "\n".join(f"- {cell(line)}" for line in environment) + "\n")
    for table in tables:
        stream.write(f"\n## {table.title[0].upper()}{table.title[1:]}\n\n")
        rule = [":--" if i < table.words else "--:" for i in range(len(table.header))]
        for line in (table.header, rule, *table.rows):
            stream.write(f"| {' | '.join(cell(text) for text in line)} |\n")
        stream.writelines(f"\n{cell(note)}\n" for note in table.notes)
    if refusals:
        stream.write("\n## What did not come out\n\n")
        stream.writelines(f"- {cell(line)}\n" for line in refusals)
