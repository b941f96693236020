"""A table as a value, and its printers: the terminal, Markdown, HTML for notebooks.

What a table says is decided once; each printer decides only how. Styles are names of what a cell
means, so that every printer can show it in its own way.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TextIO

from opbench.errors import plural
from opbench.report.terminal.fitted import Need, groups, widths
from opbench.report.terminal.visible import visible

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from rich.console import ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table as Grid

    from opbench.report.terminal.console import Console

#: Style of a cell → how the terminal and a notebook show it. Notebooks use orange and blue, which
#: are readable with any kind of colour vision; a sign always repeats what a colour says.
STYLES = {
    "slower": ("bold red", "#c2570c"),
    "faster": ("bold green", "#1a75b8"),
    "unknown": ("dim", "#8b7fa8"),
    "failed": ("red", "#c2570c"),
    "muted": ("dim", ""),
    "warning": ("yellow", "#9a7a00"),
}
#: Rows a notebook shows before the rest is counted: it is read from top to bottom.
SHOWN = 100
PIPE_WIDTH = 160


@dataclass(frozen=True)
class Column:
    name: str
    #: Numbers stand to the right.
    number: bool = False
    #: Where the terminal is narrow: broken between the parts of an id, between words, cut, or never
    #: narrower.
    wrap: Literal["fold", "words", "cut", "never"] = "words"
    min_width: int | None = None
    #: Code spans in Markdown.
    code: bool = False


@dataclass(frozen=True)
class Cell:
    text: str
    #: A key of `STYLES`, or empty.
    style: str = ""


Row = Sequence[Cell | str]


@dataclass(frozen=True)
class Table:
    """Without columns, no more than its title and its notes."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""
    #: Lines below it.
    notes: Sequence[str] = ()
    #: After the title, in a notebook.
    subtitle: str = ""
    #: With less room between columns, for tables that must fit 80 characters.
    narrow: bool = False
    #: With a rule above its last row.
    total: bool = False
    #: The first columns say what a row is: where the terminal is narrow, the other columns stand
    #: in several tables, each with these.
    labels: int = 1


def plain_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[Row],
    *,
    words: int = 2,
    notes: Sequence[str] = (),
    wrap: bool = True,
) -> Table:
    """The first `words` columns are words, the others numbers."""
    how: Literal["words", "never"] = "words" if wrap else "never"
    columns = [Column(name, index >= words, how) for index, name in enumerate(header)]
    return Table(columns, rows, title, notes, labels=words if words < len(columns) else 1)


def cell(value: Cell | str) -> Cell:
    return value if isinstance(value, Cell) else Cell(value)


#: Columns are broken inside a word or a part of an id that is longer than this, not moved into
#: another table: no two columns of that width would fit a terminal.
LONGEST_PART = 30
#: Of what may be cut, so much is always shown.
SHOWN_OF_CUT = 24


@dataclass(frozen=True)
class Fitted:
    """A table for a rich console: one, or, where its columns do not fit the width, several below
    each other, each with the labels of the rows. Texts are never read as markup."""

    table: Table

    def __rich_console__(self, console: RichConsole, options: ConsoleOptions) -> RenderResult:
        table, gap = self.table, self.gap
        needs = [need(column, each) for column, each in zip(table.columns, self.texts)]
        # Characters left of the first column and right of the last.
        room = options.max_width - 2
        if sum(each.most for each in needs) + gap * (len(needs) - 1) <= room:
            yield self.grid(range(len(needs)))
            return
        for columns in groups(needs, min(table.labels, len(needs)), room, gap):
            free = room - gap * (len(columns) - 1)
            yield self.grid(columns, widths([needs[index] for index in columns], free))

    @property
    def gap(self) -> int:
        """Characters between two columns."""
        return 2 if self.table.narrow else 3

    @property
    def texts(self) -> list[list[str]]:
        """By column, its name first."""
        rows = [[cell(value).text for value in row] for row in self.table.rows]
        return [
            [column.name, *(row[index] for row in rows)]
            for index, column in enumerate(self.table.columns)
        ]

    def grid(self, columns: Sequence[int], wide: Sequence[int] = ()) -> Grid:
        """Of some of its columns, of given widths or as wide as they are."""
        from rich import box
        from rich.table import Table as Grid
        from rich.text import Text

        from opbench.report.terminal.folded import Folded

        def shown(column: Column, value: Cell) -> RenderableType:
            style = STYLES[value.style][0] if value.style else ""
            folds = column.wrap == "fold"
            return Folded(value.text, style) if folds else Text(value.text, style)

        table = self.table
        more: Any = {"padding": (0, 1, 0, 0)} if table.narrow else {}
        printed_table = Grid(box=box.SIMPLE_HEAD, pad_edge=False, **more)
        for place, index in enumerate(columns):
            column = table.columns[index]
            folds = column.wrap == "fold"
            printed_table.add_column(
                Folded(column.name) if folds else Text(column.name),
                justify="right" if column.number else "left",
                no_wrap=column.wrap in ("cut", "never"),
                overflow="fold" if folds else "ellipsis",
                min_width=column.min_width,
                width=wide[place] if wide else None,
            )
        for number, row in enumerate(table.rows):
            if table.total and number == len(table.rows) - 1:
                printed_table.add_section()
            cells = [(table.columns[index], cell(row[index])) for index in columns]
            printed_table.add_row(*(shown(*each) for each in cells))
        return printed_table


def grid(table: Table) -> Fitted:
    """For a rich console."""
    return Fitted(table)


def need(column: Column, texts: Iterable[str]) -> Need:
    """How many characters a column takes, by how it may be narrowed."""
    from rich.cells import cell_len

    from opbench.report.terminal.folded import PART

    shown = [visible(line) for text in texts for line in text.split("\n") or [""]]
    most = max([cell_len(line) for line in shown] + [column.min_width or 0])
    if column.wrap == "never":
        return Need(most, most)
    if column.wrap == "cut":
        return Need(min(most, SHOWN_OF_CUT), most)
    parts = (
        part.rstrip()
        for line in shown
        for part in (PART.findall(line) if column.wrap == "fold" else line.split())
    )
    longest = max((cell_len(part) for part in parts), default=0)
    return Need(max(min(longest, LONGEST_PART), min(column.min_width or 0, most)), most)


def whole(table: Table) -> list[RenderableType]:
    """A table with its title and its notes, for a rich console."""
    from rich.text import Text

    title = [Text(table.title, style="bold")] if table.title else []
    columns = [grid(table)] if table.columns else []
    return [*title, *columns, *(Text(note, style="dim") for note in table.notes)]


def stacked(tables: Iterable[Table]) -> Iterator[RenderableType]:
    """Whole tables below each other, an empty line between the notes of one and the next title."""
    from rich.text import Text

    before: Table | None = None
    for table in tables:
        # Above and below a grid there is one already.
        if before and table.title and (before.notes or not before.columns):
            yield Text("")
        yield from whole(table)
        before = table


def to_terminal(tables: Iterable[Table], console: Console, more: Sequence[str] = ()) -> None:
    """Each with its title and notes; then the lines of `more`."""
    from rich.text import Text

    for part in stacked(tables):
        console.print(part)
    for line in more:
        console.print(Text(line, style="dim"))


def console_for(stream: TextIO) -> Console:
    """A file or a pipe has no width of its own, and long ids need not be broken there."""
    from opbench.report.terminal.console import Console as PrintingConsole

    width = None if stream.isatty() else PIPE_WIDTH
    return PrintingConsole(file=stream, width=width, highlight=False)


def printed(show: Callable[[Console], None], width: int = 120) -> str:
    """What `show` prints to a console, as text."""
    from opbench.report.terminal.console import Console as PrintingConsole

    stream = io.StringIO()
    show(PrintingConsole(file=stream, width=width, highlight=False))
    return stream.getvalue()


#: Begins a tag; "<0.01 %" does not.
TAG = re.compile(r"<(?=[a-zA-Z/!?])")


def one_line(text: str) -> str:
    """One line that cannot break the table it stands in, nor become a tag."""
    line = _line(str(text)).replace("|", "\\|").replace("`", "'")
    return TAG.sub("&lt;", line)


def _line(text: str) -> str:
    """One line, in which control characters show: somebody may print the file on a terminal."""
    return visible(" ".join(text.split()))


def escaped(text: str) -> str:
    """One line in which nothing is Markdown: names come from results."""
    text = _line(text)
    for sign in "\\`*_{}[]<>|#":
        text = text.replace(sign, "\\" + sign)
    return text


def code(text: str) -> str:
    """A code span; even there a bar would end the cell of a table."""
    return f"`{_line(text).replace('`', '').replace('|', chr(92) + '|')}`"


def markdown(table: Table, escape: Callable[[str], str] = one_line) -> list[str]:
    """Header, rule and rows; title and notes are the caller's."""

    def line(texts: Iterable[str]) -> str:
        return f"| {' | '.join(texts)} |"

    lines = [
        line(escape(column.name) for column in table.columns).replace("|  |", "| |"),
        line("--:" if column.number else ":--" for column in table.columns),
    ]
    for row in table.rows:
        pairs = zip(table.columns, map(cell, row))
        # Numbers are ours; words may hold anything.
        lines.append(
            line(
                (code if c.code else one_line if c.number else escape)(each.text)
                for c, each in pairs
            )
        )
    return lines


def to_markdown(
    title: str, tables: Iterable[Table], failed: Sequence[str], environment: Sequence[str] = ()
) -> str:
    """A report: its title, facts of the environment, the tables, and what has no result."""
    parts = [f"# {title}\n"]
    if environment:
        parts.append("\n" + "\n".join(f"- {one_line(line)}" for line in environment) + "\n")
    for table in tables:
        parts.append(f"\n## {table.title[0].upper()}{table.title[1:]}\n\n")
        parts += [f"{line}\n" for line in markdown(table)] if table.columns else []
        parts += [f"\n{one_line(note)}\n" for note in table.notes]
    if failed:
        parts.append("\n## Without a result\n\n")
        parts += [f"- {one_line(line)}\n" for line in failed]
    return "".join(parts)


_HTML = """\
<div style="font:13px/1.45 system-ui,sans-serif;font-variant-numeric:tabular-nums">
<p style="margin:0 0 .4em"><b>{{ table.title }}</b>{% if table.subtitle %} <span style="opacity:.7">{{ table.subtitle }}</span>{% endif %}</p>
<table style="border-collapse:collapse;margin:0">
<thead><tr>{% for column in table.columns %}<th style="text-align:{{ 'right' if column.number else 'left' }};padding:.2em .8em .2em 0;border-bottom:1px solid #8886">{{ column.name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in rows %}<tr>{% for column, cell in row %}<td style="text-align:{{ 'right' if column.number else 'left' }};padding:.15em .8em .15em 0;white-space:nowrap{{ ';font-family:ui-monospace,monospace' if column.code }}{{ ';color:' ~ colours[cell.style] if colours[cell.style] }}">{{ cell.text }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table>
{% for line in notes %}<p style="margin:.35em 0 0;opacity:.8">{{ line }}</p>
{% endfor %}</div>
"""  # noqa: E501


def to_html(table: Table) -> str:
    """For a notebook: needs no script, brings its own style; every text is escaped."""
    left = len(table.rows) - SHOWN
    rows = [list(zip(table.columns, map(cell, row))) for row in table.rows[:SHOWN]]
    colours = {name: colour for name, (_, colour) in STYLES.items()}
    notes = [*((f"… and {plural(left, 'more row')}",) if left > 0 else ()), *table.notes]
    return str(_template().render(table=table, rows=rows, notes=notes, colours=colours))


@cache
def _template() -> Any:
    from jinja2 import Environment

    return Environment(autoescape=True).from_string(_HTML)
