"""`opbench report roofline`: what operators achieve of what this machine can do."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from opbench.cli.options import run_option
from opbench.errors import UserError

if TYPE_CHECKING:
    from opbench.suites.peaks.limits import Peaks, Place
    from opbench.suites.peaks.roofline import Point

FORMATS = ("terminal", "md", "csv")
PICTURES = (".png", ".svg", ".html")
FILE_WIDTH = 160


def roofline(
    run: str = typer.Argument("", metavar="[RUN]", help="A run. [default: the latest that can]"),
    format: str = typer.Option("terminal", "--format", "-f", metavar="terminal|md|csv"),
    output: Path = typer.Option(None, "--output", "-o", help="A file; without it, the terminal."),
    chart: Path = typer.Option(
        None, "--chart", metavar="FILE.png|.svg|.html", help="Also draw the chart."
    ),
    store: str = run_option("store"),
) -> None:
    """Achieved GFLOP/s and GB/s of each operator, and the share of the machine's limit."""
    from opbench.store import Store
    from opbench.suites.peaks.limits import SUITE, peaks_of
    from opbench.suites.peaks.limits import results_of as measured_peaks
    from opbench.suites.peaks.roofline import roofline as points_of

    if format not in FORMATS:
        raise UserError(f"unknown format '{format}'; there is {', '.join(FORMATS)}")
    if chart is not None and chart.suffix not in PICTURES:
        raise UserError(f"a chart is written as {', '.join(PICTURES)}, not as {chart.name}")
    with Store.open(store, create=False) as opened:
        for record in [opened.find_run(run)] if run else opened.runs():
            results = opened.results(run=record)
            if any(one.case.work and one.case.suite != SUITE for one in results):
                break
        else:
            results = []
        best = measured_peaks(opened)
        marks = {one.result.fingerprint for one in [*results, *best]}
        facts = opened.environments(marks)
    peaks = peaks_of(best, facts)
    points = points_of(results, peaks, facts)
    if not points:
        raise UserError(
            f"{f'run {run}' if run else 'this store'} has no results of operators that say what a "
            "call amounts to; measure some: opbench run ops"
        )
    _write(points, peaks, format, output)
    if chart is not None:
        from opbench.suites.peaks.roofline_chart import save

        try:
            drawn = save(points, peaks, chart)
        except OSError as error:
            raise UserError(f"cannot write {chart}: {error.strerror}") from None
        typer.echo(f"chart in {chart}" if drawn else "no operator computes: no chart", err=True)
    if not any(point.place in peaks for point in points):
        typer.echo("this machine's limits are not known yet; measure them: opbench peaks", err=True)


def _write(
    points: Sequence[Point],
    peaks: Mapping[Place, Peaks],
    format: str,
    output: Path | None,
) -> None:
    if output is None:
        _print(points, peaks, format, sys.stdout)
        return
    try:
        with output.open("w", encoding="utf-8", newline="") as stream:
            _print(points, peaks, format, stream)
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}") from None


def _print(
    points: Sequence[Point], peaks: Mapping[Place, Peaks], format: str, stream: TextIO
) -> None:
    from rich.console import Console

    from opbench.suites.peaks import roofline_table as text

    if format == "csv":
        text.to_csv(points, stream)
    elif format == "md":
        text.to_markdown(points, peaks, stream)
    else:
        # A file has no width of its own, and a table in it should not be cut.
        width = None if stream.isatty() else FILE_WIDTH
        text.to_terminal(points, peaks, Console(file=stream, width=width, highlight=False))
