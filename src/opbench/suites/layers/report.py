"""The report on layers: factors by layer, mode and batch size, for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from opbench.report.table import Table, plain_table
from opbench.report.table import to_markdown as print_markdown
from opbench.report.table import to_terminal as print_terminal
from opbench.report.units import MISSING, format_factor, format_interval
from opbench.suites.layers.factors import (
    BASELINE,
    MAX_MEMORY,
    Factor,
    LayerRow,
    metrics_of,
)
from opbench.suites.layers.factors_published import TIME, Published

if TYPE_CHECKING:
    from opbench.report.terminal.console import Console

TITLES = {
    "time": "time",
    "host_time": "host time (what the caller waits)",
    "device_time": "device time (what the GPU works, caches warm)",
    "device_time_cold": "device time, L2 cache flushed",
    MAX_MEMORY: "max memory (everything held at the peak)",
    "memory": "memory (the peak of a step above its lowest level)",
}
#: Our metrics that are comparable with a published time: how long the caller waits for a step.
WAITED = ("time", "host_time", "time_torch", "time_python", "time_cuda")


def tables(rows: Sequence[LayerRow], against: Published | None = None) -> list[Table]:
    shown = []
    for stage in dict.fromkeys(row.stage for row in rows):
        of_stage = [row for row in rows if row.stage == stage]
        note = "" if stage == "forward_backward" else f", {stage.replace('_', ' ')}"
        for metric in metrics_of(of_stage):
            chosen = [row for row in of_stage if row.metric == metric]
            title = TITLES.get(metric, metric) + note
            shown.append(values_table(chosen, f"{title}, as measured"))
            shown.append(factor_table(chosen, f"{title}, × the same layer unwrapped"))
            shown.append(factor_table(chosen, f"{title}, × the torch.nn layer", nn=True))
            if against is not None:
                shown.append(
                    published_table(chosen, against, f"{title}, × torch.nn, ours | published")
                )
        of_step = [row for row in of_stage if row.metric == "memory"]
        shown.append(values_table(of_step, f"{TITLES['memory']}{note}, as measured"))
    return [table for table in shown if table.rows]


def over_counterpart(rows: Sequence[LayerRow]) -> list[Table]:
    """The factors that the table of a run does not have: over the torch.nn layer."""
    found = (
        factor_table(
            [row for row in rows if row.metric == metric],
            f"{TITLES.get(metric, metric)}, × the torch.nn layer",
            nn=True,
        )
        for metric in metrics_of(rows)
    )
    return [table for table in found if table.rows]


def values_table(rows: Sequence[LayerRow], title: str) -> Table:
    return _by_batch(
        rows,
        title,
        lambda row: (
            format_interval(row.estimate, row.low, row.high, row.unit)
            if row.outcome == "ok"
            else row.outcome.replace("_", " ")
        ),
    )


def factor_table(rows: Sequence[LayerRow], title: str, *, nn: bool = False) -> Table:
    if nn:
        rows = [row for row in rows if row.stands_in]
    else:
        rows = [row for row in rows if row.mode != BASELINE]
    known = [row for row in rows if (row.factor_nn if nn else row.factor) is not None]
    shown = {(row.label, row.mode) for row in known}
    rows = [row for row in rows if (row.label, row.mode) in shown]
    return _by_batch(rows, title, lambda row: factor_text(row.factor_nn if nn else row.factor))


def published_table(rows: Sequence[LayerRow], against: Published, title: str) -> Table:
    """Our factor and theirs for the same layer, mode and batch size, where both exist."""
    theirs = {row.place: published_factor(row, against) for row in rows}
    both = [row for row in rows if theirs.get(row.place) is not None]
    return replace(
        _by_batch(both, title, lambda row: f"{_short(row.factor_nn)} | {theirs[row.place]:.3g}"),
        notes=[f"published: {against.origin}"],
    )


def published_factor(row: LayerRow, against: Published | None) -> float | None:
    """The published factor of the same layer in the same size; None where there is none."""
    if against is None or row.factor_nn is None or not same_size(row, against):
        return None
    if row.metric not in WAITED and row.metric != MAX_MEMORY:
        return None
    metric = MAX_MEMORY if row.metric == MAX_MEMORY else TIME
    return against.factor(metric, row.layer, row.mode, row.batch_size)


def same_size(row: LayerRow, against: Published) -> bool:
    """Whether a row is of the published size; yes where one of the two is not recorded."""
    size = against.size(row.layer, row.batch_size)
    return not size or not row.size or row.size == size


def not_compared(rows: Sequence[LayerRow], against: Published) -> list[str]:
    """Why rows have no published value, each reason once."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        batch = row.batch_size
        if row.factor_nn is None or (row.metric not in WAITED and row.metric != MAX_MEMORY):
            continue
        metric = MAX_MEMORY if row.metric == MAX_MEMORY else TIME
        if batch not in against.batch_sizes:
            sizes = ", ".join(map(str, against.batch_sizes))
            reason = f"{against.origin} has batch sizes {sizes}, not {batch}"
            found.setdefault(reason, {})[row.label] = None
        elif against.factor(metric, row.layer, row.mode, batch) is None:
            reason = f"{against.origin} does not have it"
            found.setdefault(reason, {})[f"{row.label} {row.mode}"] = None
        elif not same_size(row, against):
            reason = f"measured {row.size}, published {against.size(row.layer, batch)}"
            found.setdefault(reason, {})[row.label] = None
    return [f"not compared: {', '.join(names)}: {reason}" for reason, names in found.items()]


def _by_batch(rows: Sequence[LayerRow], title: str, text: Callable[[LayerRow], str]) -> Table:
    sizes = sorted({row.batch_size for row in rows})
    grid: dict[tuple[str, str], dict[int, str]] = {}
    for row in rows:
        grid.setdefault((row.label, row.mode), {})[row.batch_size] = text(row)
    lines = [[*key, *(cells.get(size, "") for size in sizes)] for key, cells in grid.items()]
    return plain_table(
        title, ["layer", "mode", *(f"batch {size}" for size in sizes)], lines, wrap=False
    )


def factor_text(factor: Factor | None) -> str:
    """A factor of counted bytes has no interval."""
    return MISSING if factor is None else format_factor(factor.value, factor.low, factor.high)


def _short(factor: Factor | None) -> str:
    return MISSING if factor is None else f"{factor.value:.3g}"


def failed(rows: Iterable[LayerRow]) -> list[str]:
    """What failed, each reason once with the layers and modes it concerns."""
    by_reason: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.outcome != "ok":
            reason = f"{row.outcome.replace('_', ' ')}: {row.reason}".rstrip(": ")
            size = "" if row.outcome == "unsupported" else f" at {row.batch_size}"
            by_reason.setdefault(reason, {})[f"{row.layer} {row.mode}{size}"] = None
    return [f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()]


def to_terminal(
    rows: Sequence[LayerRow],
    console: Console,
    against: Published | None = None,
    more: Sequence[Table] = (),
) -> None:
    # Before the tables: who asked for a comparison is to know at once what has none.
    print_terminal((), console, not_compared(rows, against) if against else [])
    print_terminal([*tables(rows, against), *more], console, failed(rows))


def to_markdown(
    rows: Sequence[LayerRow],
    stream: TextIO,
    against: Published | None = None,
    environment: Sequence[str] = (),
    more: Sequence[Table] = (),
) -> None:
    title = "Layers: what per-sample gradients cost"
    shown = [*tables(rows, against), *more]
    notes = not_compared(rows, against) if against else []
    stream.write(print_markdown(title, shown, failed(rows), [*environment, *notes]))
