"""The roofline as a table: what each operator achieves, and how much that is of the limit."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, TextIO

from opbench.report.table import Column, Table, markdown
from opbench.report.table import to_terminal as print_terminal
from opbench.report.units import MISSING, format_percent, format_value
from opbench.suites.peaks.limits import Peaks, Place
from opbench.suites.peaks.roofline import Point

if TYPE_CHECKING:
    from opbench.report.terminal.console import Console

COLUMNS = ("operator", "time", "GFLOP/s", "GB/s", "FLOP/byte", "limited by", "share of limit")


def row(point: Point) -> tuple[str, ...]:
    return (
        point.case.id,
        format_value(point.result.estimate, point.result.unit),
        rate(point.flops),
        rate(point.bytes),
        f"{point.intensity:.3g}" if point.intensity else MISSING,
        point.bound or MISSING,
        MISSING if point.share is None else format_percent(point.share),
    )


def rate(per_second: float) -> str:
    """In billions per second."""
    return f"{per_second / 1e9:.3g}" if per_second else MISSING


def limits(peaks: Mapping[Place, Peaks], used: set[Place]) -> list[str]:
    """A line for each place that the points come from."""
    lines = []
    for place, limit in peaks.items():
        if place not in used:
            continue
        day = datetime.fromtimestamp(limit.created, tz=timezone.utc)
        rates = [f"{dtype} {rate(flops)}" for dtype, flops in limit.flops.items()]
        lines.append(
            f"limits ({place_name(place)}, measured {day:%Y-%m-%d}): "
            f"{', '.join(rates)} GFLOP/s; copy {rate(limit.bandwidth)} GB/s"
        )
    return lines


def place_name(place: Place) -> str:
    _machine, device, threads = place
    return f"{device}, {threads} thread{'s' * (threads > 1)}" if threads else device


def table(points: Sequence[Point], peaks: Mapping[Place, Peaks]) -> Table:
    columns = [Column(name, number=index > 0, wrap="fold") for index, name in enumerate(COLUMNS)]
    notes = limits(peaks, {point.place for point in points})
    return Table(columns, [row(point) for point in points], notes=notes)


def to_terminal(points: Sequence[Point], peaks: Mapping[Place, Peaks], console: Console) -> None:
    print_terminal([table(points, peaks)], console)


def to_markdown(points: Sequence[Point], peaks: Mapping[Place, Peaks], stream: TextIO) -> None:
    content = table(points, peaks)
    stream.writelines(f"{line}\n" for line in markdown(content))
    stream.writelines(f"\n{line}\n" for line in content.notes)


def to_csv(points: Sequence[Point], stream: TextIO) -> None:
    write = csv.writer(stream, lineterminator="\n").writerow
    write(
        ("case", "framework", "device", "threads", "dtype", "seconds", "flops_per_second",
         "bytes_per_second", "flops_per_byte", "bound", "share")
    )  # fmt: skip
    for point in points:
        case = point.case
        what = (case.id, case.framework, case.device, case.threads, case.dtype)
        share = "" if point.share is None else repr(point.share)
        achieved = (point.result.estimate, point.flops, point.bytes, point.intensity)
        write((*what, *map(repr, achieved), point.bound, share))
