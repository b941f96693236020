"""A comparison for people: in the terminal, and as Markdown for a pull request."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opbench.analyse.compare import Comparison, ComparisonRow
from opbench.report.units import COUNTED, format_percent, format_ratio, format_value

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: What the verdicts are called where "slower" would be odd.
WORDS = {
    "bytes": {"slower": "larger", "faster": "smaller"},
    "instructions": {"slower": "more", "faster": "fewer"},
    "count": {"slower": "more", "faster": "fewer"},
}
#: A sign beside the colour: colour alone does not reach everybody.
SIGNS = {"slower": "▲", "faster": "▼", "same": "=", "unknown": "?"}
STYLES = {"slower": "bold red", "faster": "bold green", "same": "", "unknown": "dim"}

#: Reasons of unknowns that are spelled out below the table.
REASONS = 8

#: Rows of a verdict that nobody has to act upon, listed in Markdown before the rest is folded.
FOLDED = 20


def word(row: ComparisonRow) -> str:
    return WORDS.get(row.unit, {}).get(row.verdict, row.verdict)


def ratio_text(row: ComparisonRow) -> str:
    if row.value is None:
        return "–"
    low, high = (row.value if end is None else end for end in (row.low, row.high))
    return format_ratio(row.value, low, high)


def change_text(row: ComparisonRow) -> str:
    if row.value is None:
        return ""
    change = row.value - 1
    return "0 %" if change == 0 else f"{'+' if change > 0 else '−'}{format_percent(abs(change))}"


def show(comparison: Comparison, console: Console | None = None) -> None:
    """A table per metric, then the remarks."""
    from rich.console import Console as RichConsole
    from rich.text import Text

    console = console or RichConsole(highlight=False)
    metrics = list(dict.fromkeys(row.metric for row in comparison.rows))
    for metric in metrics:
        rows = [row for row in comparison.rows if row.metric == metric]
        title = f"case ({metric})" if len(metrics) > 1 else "case"
        console.print(_table(comparison, rows, title))
    for line in remarks(comparison):
        console.print(Text(line))


def _table(comparison: Comparison, rows: Sequence[ComparisonRow], title: str) -> Table:
    """Where it gets narrow the names of cases and sides fold; numbers and verdicts never do."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    grid.add_column(Text(title), overflow="fold", min_width=12)
    sides = [
        [_value(row.base, row.unit) for row in rows],
        [_value(row.new, row.unit) for row in rows],
    ]
    for name, values in zip((comparison.base, comparison.new), sides):
        widest = max(map(len, values), default=0)
        grid.add_column(Text(name), justify="right", overflow="fold", min_width=widest)
    grid.add_column("ratio [95 %]", justify="right", no_wrap=True)
    grid.add_column("would\nshow", justify="right", no_wrap=True)
    grid.add_column("verdict", no_wrap=True)
    for row, *values in zip(rows, *sides):
        grid.add_row(
            Text(row.case_id + (" (edited)" if row.edited else "")),
            *map(Text, values),
            Text(ratio_text(row)),
            Text(format_percent(row.detectable) if row.detectable else ""),
            Text(f"{SIGNS[row.verdict]} {word(row)}", style=STYLES[row.verdict]),
        )
    return grid


def remarks(comparison: Comparison) -> list[str]:
    """Below the table: means, reasons of unknowns, what only one side has, the count."""
    lines = [
        f"geometric mean of {mean.metric} over {mean.cases} cases: "
        f"{mean.value:.4f} [{mean.low:.4f}, {mean.high:.4f}]"
        for mean in comparison.means
        if mean.cases > 1
    ]
    lines += [f"{row.case_id}: {row.note}" for row in comparison.rows if row.note]
    reasons: dict[str, list[str]] = {}
    for row in comparison.of("unknown"):
        reasons.setdefault(row.reason, []).append(row.case_id)
    for reason, ids in list(reasons.items())[:REASONS]:
        more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
        lines.append(f"unknown: {ids[0]}{more}: {reason}")
    left = sum(len(ids) for ids in list(reasons.values())[REASONS:])
    if left:
        lines.append(f"unknown: {left} more, for reasons like these")
    for name, alone in (
        (comparison.base, comparison.only_base),
        (comparison.new, comparison.only_new),
    ):
        if alone:
            plural = "s" if len(alone) > 1 else ""
            lines.append(f"only in {name}: {len(alone)} result{plural}, e.g. {alone[0]}")
    edited = [row.case_id for row in comparison.rows if row.edited]
    if edited:
        more = f" and {len(edited) - 1} more" if len(edited) > 1 else ""
        lines.append(f"edited in between: {edited[0]}{more}: the benchmark itself differs")
    return [*lines, counts(comparison.rows)]


def counts(rows: Sequence[ComparisonRow]) -> str:
    found: dict[str, int] = {}
    for row in rows:
        found[row.verdict] = found.get(row.verdict, 0) + 1
    order = ("slower", "faster", "same", "unknown")
    said = ", ".join(f"{found[verdict]} {verdict}" for verdict in order if verdict in found)
    return said or "nothing to compare"


def as_text(comparison: Comparison, width: int = 120) -> str:
    from rich.console import Console as RichConsole

    stream = io.StringIO()
    show(comparison, RichConsole(file=stream, width=width, highlight=False))
    return stream.getvalue()


def as_markdown(comparison: Comparison) -> str:
    """What changed on top; the rest folded away, as a pull-request comment wants it."""
    changed = [row for row in comparison.rows if row.verdict in ("slower", "faster")]
    rest = [row for row in comparison.rows if row.verdict not in ("slower", "faster")]
    parts = [f"### {_md(comparison.base)} → {_md(comparison.new)}: {counts(comparison.rows)}", ""]
    parts += _markdown_table(comparison, changed) if changed else ["Nothing changed for certain."]
    if rest:
        inner = _markdown_table(comparison, rest)
        if len(rest) > FOLDED or changed:
            parts += ["", f"<details><summary>{len(rest)} others</summary>", "", *inner]
            parts += ["", "</details>"]
        else:
            parts += ["", *inner]
    parts.append("")
    parts += [f"- {_md(line)}" for line in remarks(comparison)[:-1]]
    return "\n".join(parts).rstrip() + "\n"


def _markdown_table(comparison: Comparison, rows: Sequence[ComparisonRow]) -> list[str]:
    head = f"| case | metric | {_md(comparison.base)} | {_md(comparison.new)} | change | 95 % | |"
    lines = [head, "| :-- | :-- | --: | --: | --: | --: | :-- |"]
    for row in rows:
        lines.append(
            f"| {_code(row.case_id)} | {_md(row.metric)} "
            f"| {_value(row.base, row.unit)} | {_value(row.new, row.unit)} | {change_text(row)} "
            f"| {ratio_text(row)} | {SIGNS[row.verdict]} {word(row)} |"
        )
    return lines


def _value(result: object, unit: str) -> str:
    """Counts without their unit: the metric says it."""
    estimate = getattr(result, "estimate", None)
    return format_value(estimate, "count" if unit in COUNTED else unit)


def _code(text: str) -> str:
    """A name as a code span; even there a bar would end the cell of a table."""
    return f"`{_line(text).replace('`', '').replace('|', chr(92) + '|')}`"


def _line(text: str) -> str:
    return " ".join(text.split())


def _md(text: str) -> str:
    """Names come from results: in Markdown they are text, never markup."""
    text = _line(text)
    for sign in "\\`*_{}[]<>|#":
        text = text.replace(sign, "\\" + sign)
    return text
