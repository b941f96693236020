"""A chart of values over time in plain characters: a dot for a value, a line for its interval.

One column per point while there is room for that, else one column for the median of several. The
axis leaves out what is far from everything else: an arrow at the edge shows where it went, so that
one bad night does not flatten a year.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median_low

#: Rows of a chart: enough to see a step of a fifth of the range, few enough for two per screen.
ROWS = 9
#: A value this many interquartile ranges beyond the quartiles is left off the axis.
FENCE = 3.0
#: No point gets more columns than this: ten points need not fill a wide screen.
WIDEST = 4

DOT, WHISKER, LEVEL, ABOVE, BELOW, GAP = "●", "│", "─", "↑", "↓", "×"


@dataclass(frozen=True)
class ChartPoint:
    """A point of the chart; without a value where the result has none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    #: Where the level runs that this point belongs to.
    level: float | None = None
    #: One character below the axis; the first of several in one column is drawn.
    symbol: str = ""


def chart(
    points: Sequence[ChartPoint], width: int, label: Callable[[float], str], ends: tuple[str, str]
) -> list[str]:
    """Lines of at most `width` characters: rows with labels, symbols, then `ends` of the time."""
    values = [point.value for point in points if point.value is not None]
    if not values:
        return []
    low, high = _range(values, [point.level for point in points if point.level is not None])
    labels = {0: label(high), ROWS // 2: label((low + high) / 2), ROWS - 1: label(low)}
    margin = max(map(len, labels.values()))
    room = width - margin - 3
    columns = _columns(points, room)
    step = max(1, min(WIDEST, room // len(columns)))
    span = step * len(columns)
    grid = [[" "] * span for _ in range(ROWS)]
    for index, column in enumerate(columns):
        _draw(grid, index * step, step, column, low, high)
    lines = []
    for row, cells in enumerate(grid):
        tick = "┤" if row in labels else "│"
        lines.append(f"{labels.get(row, ''):>{margin}} {tick} {''.join(cells)}".rstrip())
    symbols = "".join(_symbol(column).ljust(step) for column in columns)
    pad = " " * (margin + 3)
    lines.append(f"{' ' * margin} └{'─' * (span + 1)}")
    if symbols.strip():
        lines.append(f"{pad}{symbols}".rstrip())
    gap = span - len(ends[0]) - len(ends[1])
    lines.append(f"{pad}{ends[0]}{' ' * max(gap, 0)}{ends[1]}" if gap > 0 else f"{pad}{ends[0]}")
    return lines


def _range(values: Sequence[float], levels: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(values)
    first, third = ordered[len(ordered) // 4], ordered[(3 * len(ordered)) // 4]
    reach = FENCE * (third - first)
    inside = [value for value in ordered if first - reach <= value <= third + reach or not reach]
    low, high = min([*inside, *levels]), max([*inside, *levels])
    # Some air around the points: it is where their intervals show, and without it a history that
    # scatters by a tenth of a percent would look as wild as any other.
    air = max((high - low) / 4, abs(high) * 0.01) or 1.0
    return low - air, high + air


def _columns(points: Sequence[ChartPoint], room: int) -> list[list[ChartPoint]]:
    """The points of each column, evenly many in each."""
    count = min(len(points), max(room, 1))
    edges = [len(points) * index // count for index in range(count + 1)]
    return [list(points[start:end]) for start, end in pairwise(edges)]


def _draw(
    grid: list[list[str]], at: int, step: int, column: Sequence[ChartPoint], low: float, high: float
) -> None:
    def row(value: float) -> int:
        return round((high - value) / (high - low) * (ROWS - 1))

    levels = [point.level for point in column if point.level is not None]
    if levels:
        for cell in range(at, at + step):
            grid[row(levels[-1])][cell] = LEVEL
    shown = [point for point in column if point.value is not None]
    if not shown:
        grid[ROWS - 1][at] = GAP
        return
    value = median_low([point.value for point in shown if point.value is not None])
    if value > high or value < low:
        grid[0 if value > high else ROWS - 1][at] = ABOVE if value > high else BELOW
        return
    # An interval of one of several points would say nothing of the others.
    if len(column) == 1 and column[0].low is not None and column[0].high is not None:
        top, bottom = min(column[0].high, high), max(column[0].low, low)
        for line in range(row(top), row(bottom) + 1):
            grid[line][at] = WHISKER
    grid[row(value)][at] = DOT


def _symbol(column: Sequence[ChartPoint]) -> str:
    return next((point.symbol for point in column if point.symbol), " ")
