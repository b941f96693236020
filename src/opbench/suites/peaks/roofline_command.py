"""`opbench report roofline`: what operators achieve of what this machine can do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from opbench.cli.options import run_option
from opbench.cli.report_output import check_format, runs_with, write_to
from opbench.errors import UserError
from opbench.report.table import console_for

if TYPE_CHECKING:
    from opbench.store.records import StoredResult

FORMATS = ("terminal", "md", "csv")
PICTURES = (".png", ".svg", ".html")


def roofline(
    run: str = typer.Argument(
        "", metavar="[RUN]", help="A run. [default: the latest with operators]"
    ),
    format: str = typer.Option("terminal", "--format", "-f", metavar="terminal|md|csv"),
    output: Path = typer.Option(None, "--output", "-o", help="Write here, not to the terminal."),
    chart: Path = typer.Option(
        None, "--chart", metavar="FILE.png|.svg|.html", help="Also draw the chart."
    ),
    store: str = run_option("store"),
) -> None:
    """GFLOP/s and GB/s of operators, and shares of the limits."""
    from opbench.store import Store
    from opbench.suites.peaks import roofline_table as text
    from opbench.suites.peaks.limits import SUITE
    from opbench.suites.peaks.roofline import of_run

    check_format(format, FORMATS)
    if chart is not None and chart.suffix not in PICTURES:
        raise UserError(f"{chart}: a chart is written as {', '.join(PICTURES)}")

    def computes(stored: StoredResult) -> bool:
        return stored.case.work is not None and stored.case.suite != SUITE

    missing = (
        "forward passes with known FLOPs and bytes; measure some: opbench run ops --stage forward"
    )
    with Store.open(store, create=False) as opened:
        found = runs_with(opened, [run] if run else [], computes, missing, samples=False)
        results = found[0][1]
        facts = opened.environments({each.result.fingerprint for each in results})
        points, peaks = of_run(opened, results, facts)
    if not points:
        raise UserError(f"run {found[0][0].id} has no results of {missing}")

    def write(stream: TextIO) -> None:
        if format == "csv":
            text.to_csv(points, stream)
        elif format == "md":
            text.to_markdown(points, peaks, stream)
        else:
            text.to_terminal(points, peaks, console_for(stream))

    write_to(output, write)
    if chart is not None:
        from opbench.suites.peaks.roofline_chart import save

        try:
            drawn = save(points, peaks, chart)
        except OSError as error:
            raise UserError(f"cannot write {chart}: {error.strerror}") from None
        typer.echo(f"chart in {chart}" if drawn else "no operator computes: no chart", err=True)
    if not any(point.bound for point in points):
        typer.echo("limits of this machine are unknown; measure them: opbench peaks", err=True)
