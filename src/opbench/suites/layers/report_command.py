"""`opbench report layers`: factors of each mode over the layer as it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from opbench.cli.options import run_option
from opbench.cli.report_output import check_format, suite_results, write_to
from opbench.errors import UserError, plural
from opbench.report.table import console_for

if TYPE_CHECKING:
    from opbench.report.table import Table
    from opbench.suites.layers.factors import LayerRow

FORMATS = ("terminal", "md", "csv")


def layers(
    runs: list[str] = typer.Argument(
        None,
        metavar="[RUN... | FILE.csv]",
        help="Runs, read as one, or a CSV file of this report. [default: latest]",
        show_default=False,
    ),
    format: str = typer.Option("terminal", "--format", "-f", metavar="terminal|md|csv"),
    output: Path = typer.Option(None, "--output", "-o", help="Write here, not to the terminal."),
    charts: Path = typer.Option(
        None, "--charts", metavar="FOLDER", help="Also write the charts, as PNG and SVG."
    ),
    figure: Path = typer.Option(
        None,
        "--figure",
        metavar="FILE.pdf|FILE.svg",
        help="Also write a figure for a paper: overhead by layer and batch size, one column wide.",
    ),
    metric: str = typer.Option(
        "", "--metric", help="Of the figure. [default: the time that a caller waits]"
    ),
    against: str = typer.Option(
        None,
        "--against",
        metavar="FILE|published",
        help="Compare the factors with those of a CSV file, or of the 2021 study.",
    ),
    store: str = run_option("store"),
) -> None:
    """Factors of each mode over the plain layer, time and memory."""
    from opbench.suites.layers import csv_file
    from opbench.suites.layers import report as text
    from opbench.suites.layers.factors_published import published

    check_format(format, FORMATS)
    theirs = published(against) if against else None
    rows, environment, steps = _read(runs or [], store)
    of_layers = {
        "--figure": figure,
        "--charts": charts,
        "--against": against,
        "-f csv": format == "csv",
    }
    if steps and not rows and (flags := [flag for flag, value in of_layers.items() if value]):
        raise UserError(
            "a run of a whole model has no factors over torch.nn layers, so it cannot have "
            f"{' or '.join(flags)}; for charts, use opbench report RUN -o report.html; for a CSV "
            "file, use opbench export -f csv"
        )

    def write(stream: TextIO) -> None:
        if format == "csv":
            csv_file.write(rows, stream, environment)
        elif format == "md":
            text.to_markdown(rows, stream, theirs, environment, steps)
        else:
            text.to_terminal(rows, console_for(stream), theirs, steps)

    write_to(output, write)
    if charts is not None:
        from opbench.suites.layers.charts import save

        try:
            written = save(rows, charts, against=theirs)
        except OSError as error:
            raise UserError(f"cannot write charts to {charts}: {error.strerror}") from None
        typer.echo(f"{plural(len(written), 'chart')} in {charts}", err=True)
    if figure is not None:
        from opbench.suites.layers.figure import save as save_figure

        save_figure(rows, figure, metric, theirs)
        typer.echo(f"figure in {figure}", err=True)


def _read(
    runs: Sequence[str], store: str | None
) -> tuple[list[LayerRow], list[str], Sequence[Table]]:
    """The rows of layers, the environment, and the tables of users' models."""
    from opbench.suites.layers.csv_file import read
    from opbench.suites.layers.factors import rows as rows_of
    from opbench.suites.layers.model.report import tables
    from opbench.suites.layers.stored import MODELS

    if any(run.endswith(".csv") for run in runs):
        if len(runs) > 1:
            raise UserError("a report reads one file, or several runs")
        return *read(Path(runs[0])), ()
    missing = "layers; measure some: opbench run layers"
    by_run, environment = suite_results(store, runs, ("layers", MODELS), missing)
    found = [stored for results in by_run for stored in results]
    return rows_of(found), environment, tables((each.case, each.result) for each in found)
