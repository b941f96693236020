"""The report on operators: frameworks side by side, size classes, fusion, what has no result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from opbench.report.table import Table, plain_table
from opbench.report.table import to_markdown as print_markdown
from opbench.report.table import to_terminal as print_terminal
from opbench.report.units import MISSING, format_factor, format_interval, format_value
from opbench.suites.ops.entry import SIZES
from opbench.suites.ops.fusion import Gain, gains
from opbench.suites.ops.results.outcomes import outcome_table
from opbench.suites.ops.results.rows import OperatorRow

if TYPE_CHECKING:
    from opbench.report.terminal.console import Console


def tables(rows: Sequence[OperatorRow]) -> list[Table]:
    times = tried(row for row in rows if row.unit == "s" and row.form in ("", "fused"))
    pairs = ((row.framework, row.outcome) for row in rows)
    shown = [outcome_table(pairs, "results by framework")]
    several = len({row.framework for row in times}) > 1
    for device, dtype, size, stage, metric in dict.fromkeys(
        (row.device, row.dtype, row.size, row.stage, row.metric) for row in times
    ):
        chosen = [
            row
            for row in times
            if (row.device, row.dtype, row.size, row.stage, row.metric)
            == (device, dtype, size, stage, metric)
        ]
        what = f"{stage.replace('_', ' and ')}, {size}, {dtype}, {device}"
        what += "" if metric == "time" else f", {metric.replace('_', ' ')}"
        shown.append(frameworks(chosen, what) if several else quantile_table(chosen, what))
    shown += [sizes(times), fusion(gains(rows))]
    return [table for table in shown if table.rows]


def tried(rows: Iterable[OperatorRow]) -> list[OperatorRow]:
    """Those of operators that some framework was asked for and has: no line is all dashes."""
    found = list(rows)
    places = {row.place for row in found if row.outcome != "unsupported"}
    return [row for row in found if row.place in places]


def frameworks(rows: Sequence[OperatorRow], what: str) -> Table:
    """Operators down, frameworks across; the fastest of each is marked."""
    # A framework without any result (JAX has no device time) would be a column of dashes.
    names = list(dict.fromkeys(row.framework for row in rows if row.outcome != "unsupported"))
    grid: dict[tuple[str, ...], dict[str, OperatorRow]] = {}
    for row in rows:
        grid.setdefault(row.place, {})[row.framework] = row
    lines = []
    for by_framework in grid.values():
        first = next(iter(by_framework.values()))
        own_kind = [row for row in by_framework.values() if not row.emulated]
        times = [row.estimate for row in own_kind if row.ok and row.estimate]
        best = min(times) if len(times) > 1 else None
        cells = []
        for name in names:
            own = by_framework.get(name)
            emulated = own is not None and own.emulated and own.ok
            fastest = own is not None and own.ok and own.estimate == best and not emulated
            cells.append(time_text(own) + (" *" if fastest else " †" if emulated else ""))
        lines.append([first.category, title(first), *cells])
    notes = ["* the fastest. A view costs nothing where a framework makes views; others copy."]
    if any(row.emulated for row in rows):
        notes.append("† several operators stand for one that the framework lacks; not ranked.")
    said = {f"{row.operator} in {row.framework}: {row.note}": None for row in rows if row.note}
    said |= {f"{row.framework}: {row.caveat}": None for row in rows if row.caveat}
    columns = ["category", "operator", *names]
    return plain_table(f"time, {what}", columns, lines, notes=[*notes, *said])


def quantile_table(rows: Sequence[OperatorRow], what: str) -> Table:
    lines = []
    for row in rows:
        q = row.quantiles
        values = (q.p50, q.p90, q.p99, q.mean) if q else (None,) * 4
        spread = [format_value(each, row.unit) for each in values]
        lines.append([row.category, title(row), time_text(row), *spread, rate_text(row)])
    return plain_table(
        f"time, {what}",
        ["category", "operator", "time", "p50", "p90", "p99", "mean", "GFLOP/s"],
        lines,
    )


def sizes(rows: Sequence[OperatorRow]) -> Table:
    """Operators and frameworks down, size classes across."""
    measured = [size for size in SIZES if any(row.size == size for row in rows)]
    if len(measured) < 2:
        return plain_table("", [], [])
    grid: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        if row.outcome == "unsupported":
            continue
        key = (row.operator, row.framework, stage_text(row), row.dtype)
        note = f" ({row.scaled})" if row.scaled else ""
        grid.setdefault(key, {})[row.size] = time_text(row, short=True) + note
    lines = [
        [*key, *(cells.get(size, MISSING) for size in measured)]
        for key, cells in grid.items()
        if len(cells) > 1
    ]
    return plain_table(
        "time by size class",
        ["operator", "framework", "stage", "dtype", *measured],
        lines,
        words=4,
    )


def stage_text(row: OperatorRow) -> str:
    """The stage, and which time it is where a case has several."""
    stage = row.stage.replace("_", " and ")
    return stage if row.metric == "time" else f"{stage}, {row.metric.replace('_', ' ')}"


def fusion(measured: Sequence[Gain]) -> Table:
    lines = [
        [
            gain.fused.operator,
            gain.fused.framework,
            gain.how,
            gain.fused.size,
            stage_text(gain.fused),
            format_value(gain.fused.estimate, "s"),
            format_value(gain.sum, "s"),
            format_factor(gain.value, gain.low, gain.high),
            " + ".join(
                f"{part.form.partition('.')[2]} {format_value(part.estimate, 's')}"
                for part in gain.parts
            ),
        ]
        for gain in measured
    ]
    return plain_table(
        "fusion: the sum of the parts over the fused operator",
        ["operator", "framework", "how", "size", "stage", "fused", "parts", "gain", "of which"],
        lines,
        words=5,
        notes=[
            "kernel: one call, or weights folded beforehand. graph: a compiler sees all of it. "
            "sequence: the parts in one statement; the framework fuses nothing."
        ]
        if lines
        else [],
    )


def title(row: OperatorRow) -> str:
    notes = [text for text in (row.inputs, f"scaled {row.scaled}" if row.scaled else "") if text]
    return f"{row.operator} ({', '.join(notes)})" if notes else row.operator


def time_text(row: OperatorRow | None, short: bool = False) -> str:
    if row is None:
        return MISSING
    if not row.ok:
        return MISSING if row.outcome == "unsupported" else row.outcome.replace("_", " ")
    if short:
        return format_value(row.estimate, row.unit)
    return format_interval(row.estimate, row.low, row.high, row.unit)


def rate_text(row: OperatorRow) -> str:
    """By the formula of the forward pass: a backward pass has none."""
    if not row.ok or not row.flops or row.stage != "forward" or not row.estimate:
        return MISSING
    return f"{row.flops / row.estimate / 1e9:.3g}"


def failed(rows: Sequence[OperatorRow]) -> list[str]:
    """Every result that is not ok, by reason: what many operators lack is said once."""
    by_reason: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.outcome != "ok":
            said = row.reason.removesuffix(f" {row.operator}").removeprefix(f"{row.operator} ")
            reason = f"{row.outcome.replace('_', ' ')}: {said}".rstrip(": ")
            by_reason.setdefault(f"{row.framework}: {reason}", {})[row.operator] = None
    return [f"{reason} ({', '.join(names)})" for reason, names in by_reason.items()]


def to_terminal(rows: Sequence[OperatorRow], console: Console) -> None:
    print_terminal(tables(rows), console, failed(rows))


def to_markdown(
    rows: Sequence[OperatorRow], stream: TextIO, environment: Sequence[str] = ()
) -> None:
    stream.write(print_markdown("Operators", tables(rows), failed(rows), environment))
