"""`opbench report`: what was measured, made to be read: the page, and the report on layers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from opbench.cli.report_group import PAGE, ReportGroup
from opbench.cli.report_page import page
from opbench.errors import UserError
from opbench.suites.ops.report_command import ops
from opbench.suites.peaks.roofline_command import roofline
from opbench.suites.sweeps.command import sweep

if TYPE_CHECKING:
    from opbench.suites.layers.factors import LayerRow
    from opbench.suites.layers.factors_published import Published

report = typer.Typer(
    name="report",
    help="A run as one HTML page (`opbench report [RUN] -o report.html`), or a report of its own.",
    cls=ReportGroup,
    rich_markup_mode=None,
)
report.command(PAGE)(page)
report.command("sweep")(sweep)

report.command("roofline")(roofline)
report.command("ops")(ops)

FORMATS = ("terminal", "md", "csv")
FILE_WIDTH = 160


@report.command("layers")
def layers(
    runs: list[str] = typer.Argument(
        None,
        metavar="[RUN... | FILE.csv]",
        help="Runs, read as one, or a file of this report. [default: latest]",
        show_default=False,
    ),
    format: str = typer.Option("terminal", "--format", "-f", metavar="terminal|md|csv"),
    output: Path = typer.Option(None, "--output", "-o", help="A file; without it, the terminal."),
    charts: Path = typer.Option(
        None, "--charts", metavar="FOLDER", help="Also write the charts, as PNG and SVG."
    ),
    against: str = typer.Option(
        None,
        "--against",
        metavar="FILE|published",
        help="Lay our factors beside those of a CSV file, or of the study of 2021.",
    ),
    store: str = typer.Option(
        None, metavar="URL", help="The store. [default: .opbench/results.db]"
    ),
) -> None:
    """Factors of each mode over the layer as it is, for time and memory, with intervals."""
    from opbench.suites.layers.factors_published import published

    if format not in FORMATS:
        raise UserError(f"unknown format '{format}'; there is {', '.join(FORMATS)}")
    theirs = published(against) if against else None
    rows, environment = _read(runs or [], store)
    _write(rows, environment, format, output, theirs)
    if charts is not None:
        from opbench.suites.layers.charts import save

        try:
            written = save(rows, charts)
        except OSError as error:
            raise UserError(f"cannot write charts to {charts}: {error.strerror}") from None
        typer.echo(f"{len(written)} charts in {charts}", err=True)


def _read(runs: Sequence[str], store: str | None) -> tuple[list[LayerRow], list[str]]:
    from opbench.store import Store
    from opbench.suites.layers.csv_file import environment_lines
    from opbench.suites.layers.factors import rows as rows_of
    from opbench.suites.layers.factors_file import read

    if any(run.endswith(".csv") for run in runs):
        if len(runs) > 1:
            raise UserError("a report reads one file, or several runs")
        return read(Path(runs[0]))
    found: list[LayerRow] = []
    environment: dict[str, None] = {}
    with Store.open(store, create=False) as opened:
        for record in [opened.find_run(run) for run in runs] or opened.runs():
            results = opened.results(run=record, samples=True)
            if any(stored.case.suite == "layers" for stored in results):
                found += rows_of(results)
                environment.update(dict.fromkeys(environment_lines(record)))
                if not runs:
                    break  # the latest that has some
    if found:
        return found, list(environment)
    where = f"run {', '.join(runs)}" if runs else "this store"
    raise UserError(f"{where} has no results of layers; measure some: opbench run layers")


def _write(
    rows: list[LayerRow],
    environment: list[str],
    format: str,
    output: Path | None,
    against: Published | None,
) -> None:
    if output is None:
        _print(rows, environment, format, sys.stdout, against)
        return
    try:
        with output.open("w", encoding="utf-8", newline="") as stream:
            _print(rows, environment, format, stream, against)
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}") from None


def _print(
    rows: list[LayerRow],
    environment: list[str],
    format: str,
    stream: TextIO,
    against: Published | None,
) -> None:
    from rich.console import Console

    from opbench.suites.layers import csv_file as layers_csv
    from opbench.suites.layers import report as text

    if format == "csv":
        layers_csv.write(rows, stream, environment)
    elif format == "md":
        text.to_markdown(rows, stream, against, environment)
    elif stream.isatty():
        text.to_terminal(rows, Console(highlight=False), against)
    else:
        # A file has no width of its own, and a table in it should not be cut.
        text.to_terminal(rows, Console(file=stream, width=FILE_WIDTH, highlight=False), against)
