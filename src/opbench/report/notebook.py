"""Results as HTML for a notebook: small tables that need no script and bring their own style.

Every text goes through Jinja2's escaping; a case called `<script>` is text here too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from opbench.analyse.compare import Comparison
from opbench.analyse.history import History
from opbench.case import Case
from opbench.report.comparison import SIGNS, change_text, counts, ratio_text, remarks, word
from opbench.report.history import difference_text, sentence
from opbench.report.units import format_interval, format_value
from opbench.result import Result

if TYPE_CHECKING:
    from opbench.report.page.contents import Contents

#: Rows shown before the rest is counted: a notebook is read from top to bottom.
SHOWN = 100

_TEMPLATE = """\
<div style="font:13px/1.45 system-ui,sans-serif;font-variant-numeric:tabular-nums">
<p style="margin:0 0 .4em"><b>{{ title }}</b>{% if note %} <span style="opacity:.7">{{ note }}</span>{% endif %}</p>
<table style="border-collapse:collapse;margin:0">
<thead><tr>{% for name in header %}<th style="text-align:{{ 'left' if loop.index0 < words else 'right' }};padding:.2em .8em .2em 0;border-bottom:1px solid #8886">{{ name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in rows %}<tr>{% for cell in row.cells %}<td style="text-align:{{ 'left' if loop.index0 < words else 'right' }};padding:.15em .8em .15em 0;white-space:nowrap{{ ';font-family:ui-monospace,monospace' if loop.first }}{{ ';color:' ~ row.colour if row.colour and loop.last }}">{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table>
{% for line in lines %}<p style="margin:.35em 0 0;opacity:.8">{{ line }}</p>
{% endfor %}</div>
"""  # noqa: E501

#: Orange and blue: told apart with any kind of colour vision, and marked with a sign besides.
COLOURS = {"slower": "#c2570c", "faster": "#1a75b8", "unknown": "#8b7fa8"}


@dataclass(frozen=True)
class Row:
    cells: Sequence[str]
    #: Of the last cell.
    colour: str = ""


@dataclass(frozen=True)
class Table:
    title: str
    header: Sequence[str]
    rows: Sequence[Row]
    note: str = ""
    #: Remarks below.
    lines: Sequence[str] = field(default_factory=tuple)
    #: Columns of words; the others are numbers, to the right.
    words: int = 1

    def html(self) -> str:
        left = len(self.rows) - SHOWN
        more = (f"… and {left:,} more rows",) if left > 0 else ()
        text = _template().render(
            title=self.title,
            note=self.note,
            header=self.header,
            rows=self.rows[:SHOWN],
            lines=[*more, *self.lines],
            words=self.words,
        )
        return str(text)


@cache
def _template() -> Any:
    from jinja2 import Environment

    return Environment(autoescape=True).from_string(_TEMPLATE)


def results_html(title: str, pairs: Sequence[tuple[Case, Result]], note: str = "") -> str:
    """One row per case and environment, one column per metric."""
    metrics = list(dict.fromkeys(result.metric for _, result in pairs))
    several = len({result.environment for _, result in pairs}) > 1
    found: dict[tuple[str, str], dict[str, Result]] = {}
    names: dict[tuple[str, str], str] = {}
    for case, result in pairs:
        key = (result.case_hash, result.environment)
        found.setdefault(key, {})[result.metric] = result
        names[key] = case.id + (f" in {result.environment}" if several else "")
    rows = []
    for key, results in found.items():
        notes = dict.fromkeys(w.code for each in results.values() for w in each.warnings)
        cells = [_value(results.get(metric)) for metric in metrics]
        rows.append(Row([names[key], *cells, ", ".join(notes)], "#9a7a00"))
    return Table(title, ["case", *metrics, ""], rows, note).html()


def _value(result: Result | None) -> str:
    if result is None:
        return ""
    if not result.ok:
        return result.outcome_text
    return format_interval(result.estimate, result.low, result.high, result.unit)


def comparison_html(comparison: Comparison) -> str:
    several = len({row.metric for row in comparison.rows}) > 1
    header = ["case", *(["metric"] if several else []), comparison.base, comparison.new]
    rows = [
        Row(
            [
                row.case_id,
                *([row.metric] if several else []),
                format_value(getattr(row.base, "estimate", None), row.unit),
                format_value(getattr(row.new, "estimate", None), row.unit),
                change_text(row),
                ratio_text(row),
                f"{SIGNS[row.verdict]} {word(row)}",
            ],
            COLOURS.get(row.verdict, ""),
        )
        for row in sorted(comparison.rows, key=_most_changed)
    ]
    return Table(
        f"{comparison.base} → {comparison.new}",
        [*header, "change", "ratio [95 %]", "verdict"],
        rows,
        counts(comparison.rows),
        remarks(comparison)[:-1],
        words=2 if several else 1,
    ).html()


def _most_changed(row: Any) -> tuple[bool, float]:
    certain = row.verdict in ("slower", "faster")
    size = max(row.value, 1 / row.value) if row.value else float("inf")
    return not certain, -size


def history_html(history: History) -> str:
    rows, lines = [], []
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
            mark = "" if change is None else "slower" if change.rises else "faster"
            note = ", ".join(difference_text(each) for each in series.notes.get(index, ()))
            sign = f"{SIGNS[mark]} " if mark else ""
            cells = [point.run.id, where, point.origin.commit[:7], value, f"{sign}{note}"]
            rows.append(Row(cells, COLOURS.get(mark, "")))
        lines += [sentence(change, history) for change in series.changes]
    return Table(
        history.case_id,
        ["run", "where", "commit", history.metric, ""],
        rows[-SHOWN:],
        f"{history.metric}, {history.runs} runs",
        lines or ["No change of level."],
        words=3,
    ).html()


def contents_html(contents: Contents) -> str:
    """The results of a run, then what it was compared with."""
    pairs = [(stored.case, stored.result) for stored in contents.results]
    run = contents.run
    parts = [results_html(run.name or f"Run {run.id}", pairs, f"{len(pairs):,} results")]
    parts += [comparison_html(comparison) for comparison in contents.comparisons[:4]]
    return "<br>".join(parts)
