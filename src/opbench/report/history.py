"""The history of a case for the terminal: chart, points, and a sentence for every change.

Shapes carry the meaning (▲ more, ▼ less, ◆ something else changed, × no value); the colours,
orange and blue, only repeat it. Eighty columns are enough.
"""

from __future__ import annotations

import textwrap
from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from opbench.analyse.compare import verdict_word
from opbench.analyse.differences import Difference
from opbench.analyse.history import Change, History, Series
from opbench.errors import plural
from opbench.report.chart import GAP, ChartPoint, chart
from opbench.report.table import printed
from opbench.report.units import format_interval, format_percent, format_time, format_value
from opbench.stats.changepoints import HOLD
from opbench.store.history import HistoryRow

if TYPE_CHECKING:
    from opbench.report.terminal.console import Console

MORE, LESS, OTHER = "▲", "▼", "◆"
STYLES = {MORE: "orange3", LESS: "dodger_blue1", OTHER: "dim"}
#: More points than this are abbreviated: the first, the last, and those near a change.
LISTED = 24
FIRST, NEAR, LAST = 2, 2, 8
#: Digits of a commit, as `git log --oneline` shows.
SHORT = 7


def show(history: History, console: Console | None = None) -> None:
    from rich.text import Text

    from opbench.report.terminal.console import Console as PrintingConsole

    console = console or PrintingConsole(highlight=False)
    for line in lines(history, console.width):
        style = STYLES.get(line[:1], "")
        console.print(Text(line, style=style), soft_wrap=True)


def as_text(history: History, width: int = 80) -> str:
    return printed(lambda console: show(history, console), width)


def lines(history: History, width: int) -> list[str]:
    text = [f"{history.case_id} · {history.metric} · {plural(history.runs, 'run')}"]
    for series in history.series:
        text += ["", *_series(series, history, width)]
    return text


def _series(series: Series, history: History, width: int) -> list[str]:
    where = " ".join(part for part in (series.hardware, f"({series.machine})") if part != "()")
    title = f"environment {series.environment}" + (f" on {where}" if where else "")
    text = [*textwrap.wrap(title, width), ""]
    if series.measured > 1:
        label = partial(format_value, unit=history.unit)
        plot = chart(_chart_points(series), width, label, _ends(series))
        text += [*plot, *_legend(series, words(history)), ""]
    text += [*_table(series, history, width), ""]
    for change in series.changes:
        text += textwrap.wrap(sentence(change, history), width, subsequent_indent="  ")
    return text + textwrap.wrap(_conclusion(series), width)


def _chart_points(series: Series) -> list[ChartPoint]:
    starts = [change.index for change in series.changes]
    levels = [change.level.before for change in series.changes[:1]]
    levels += [change.level.after for change in series.changes]
    symbols = _symbols(series)
    points = []
    for index, point in enumerate(series.points):
        level = levels[bisect_right(starts, index)] if levels else None
        values = (point.estimate, point.low, point.high) if point.ok else (None, None, None)
        points.append(ChartPoint(*values, level, symbols.get(index, "")))
    return points


def _symbols(series: Series) -> dict[int, str]:
    """By index of a point: what stands below it in the chart, and before it in the table."""
    changes = {change.index: MORE if change.rises else LESS for change in series.changes}
    return dict.fromkeys(series.notes, OTHER) | changes


def _legend(series: Series, words: tuple[str, str]) -> list[str]:
    shown = set(_symbols(series).values())
    entries = [
        f"{MORE} {words[0]}" if MORE in shown else "",
        f"{LESS} {words[1]}" if LESS in shown else "",
        f"{OTHER} another environment, opbench or case" if OTHER in shown else "",
        f"{GAP} no value" if series.measured < len(series.points) else "",
    ]
    return [f"  {'   '.join(filter(None, entries))}"] if any(entries) else []


def _table(series: Series, history: History, width: int) -> list[str]:
    """Newest last."""
    rows: list[tuple[str, ...]] = []
    symbols = _symbols(series)
    # A name that all runs share tells nothing, and space is scarce.
    named = len({point.run.name for point in series.points}) > 1
    before = -1
    for index in listed(len(series.points), [change.index for change in series.changes]):
        if index > before + 1:
            rows.append(("", f"… {index - before - 1} more", "", "", "", ""))
        before = index
        point = series.points[index]
        note = ", ".join(map(difference_text, series.notes.get(index, ())))
        if point.ok:
            value = format_interval(point.estimate, point.low, point.high, history.unit)
        else:
            value, note = point.outcome, ", ".join(filter(None, (point.reason, note)))
        name = point.run.name if named else ""
        rows.append((symbols.get(index, ""), point.run.id, name, _commit(point), value, note))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = []
    for symbol, run, name, commit, value, note in rows:
        cells = [f"{symbol:<1}", f"{run:<{widths[1]}}"]
        cells += [f"{cell:<{size}}" for cell, size in ((name, widths[2]), (commit, widths[3]))]
        cells += [f"{value:>{widths[4]}}", note]
        text = "  ".join(cell for cell, size in zip(cells, [1, *widths[1:], 1]) if size).rstrip()
        lines.append(text if len(text) <= width else text[: width - 1] + "…")
    return lines


def listed(count: int, changes: Sequence[int]) -> list[int]:
    """Which of many points are shown, by index; all of a few."""
    if count <= LISTED:
        return list(range(count))
    near = {at + offset for at in changes for offset in range(-NEAR, NEAR)}
    kept = {*range(FIRST), *near, *range(count - LAST, count)}
    return sorted(index for index in kept if 0 <= index < count)


def sentence(change: Change, history: History) -> str:
    """`▲ slower by 5.1 % between run X (commit abc) and run Y (commit def): numpy 2.2 → 2.3`."""
    symbol = MORE if change.rises else LESS
    places = " and ".join(
        f"run {point.run.id}" + (f" (commit {_commit(point)})" if point.origin.commit else "")
        for point in (change.before, change.after)
    )
    return f"{symbol} {_moved(change, history)} between {places}: {cause_text(change)}"


def cause_text(change: Change) -> str:
    """What else changed there, as far as it is stored."""
    others = [difference_text(each) for each in change.differences if each.kind != "commit"]
    if others or not change.differences:
        return ", ".join(others) or "nothing that is stored changed; look at the machine"
    return "only the commit changed"


def _moved(change: Change, history: History) -> str:
    ratio = change.ratio
    if ratio is None:
        levels = (change.level.before, change.level.after)
        return "from {} to {}".format(*(format_value(level, history.unit) for level in levels))
    return f"{words(history)[ratio < 1]} by {format_percent(abs(ratio - 1))}"


def words(history: History) -> tuple[str, str]:
    """What a rise and a fall of the metric are called."""
    return verdict_word("slower", history.unit), verdict_word("faster", history.unit)


def difference_text(difference: Difference) -> str:
    """`numpy 2.2.6 → 2.3.5`."""
    if difference.kind == "case":
        return "the measured code changed"
    if difference.kind == "environment":
        return "the environment changed"
    ends = (difference.before or "none", difference.after or "none")
    return f"{difference.name} {ends[0]} → {ends[1]}"


def _conclusion(series: Series) -> str:
    """Of values, not of runs: one run of `ab --commit` has a value for each commit, a run that
    crashed has none."""
    count = series.measured
    if count == 0:
        return "No value."
    if count == 1:
        return "One value: too few to detect a change."
    if count < 2 * HOLD:
        return f"{count} values; detecting a change of level takes {2 * HOLD}."
    if not series.changes:
        return f"No change of level in {count} values."
    return ""


def _commit(point: HistoryRow) -> str:
    origin = point.origin
    return origin.commit[:SHORT] + ("+" if origin.dirty and origin.commit else "")


def _ends(series: Series) -> tuple[str, str]:
    """Days, or the time of day where it was one day; in UTC, as the ids of runs are."""
    first, last = (series.points[index].run.created for index in (0, -1))
    day = "%Y-%m-%d"
    shape = "%H:%M" if format_time(first, day) == format_time(last, day) else day
    return format_time(first, shape), format_time(last, shape)
