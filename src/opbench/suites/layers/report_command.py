"""`opbench report layers`: factors of each mode over the layer as it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from opbench.cli.report_output import check_format, runs_with, write_to
from opbench.errors import UserError
from opbench.report.table import console_for

if TYPE_CHECKING:
    from opbench.suites.layers.factors import LayerRow

FORMATS = ("terminal", "md", "csv")


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
        help="Show our factors next to those of a CSV file, or of the study of 2021.",
    ),
    store: str = typer.Option(
        None, metavar="URL", help="The store. [default: .opbench/results.db]"
    ),
) -> None:
    """Factors of each mode over the layer as it is, for time and memory, with intervals."""
    from opbench.suites.layers import csv_file
    from opbench.suites.layers import report as text
    from opbench.suites.layers.factors_published import published

    check_format(format, FORMATS)
    theirs = published(against) if against else None
    rows, environment = _read(runs or [], store)

    def write(stream: TextIO) -> None:
        if format == "csv":
            csv_file.write(rows, stream, environment)
        elif format == "md":
            text.to_markdown(rows, stream, theirs, environment)
        else:
            text.to_terminal(rows, console_for(stream), theirs)

    write_to(output, write)
    if charts is not None:
        from opbench.suites.layers.charts import save

        try:
            written = save(rows, charts)
        except OSError as error:
            raise UserError(f"cannot write charts to {charts}: {error.strerror}") from None
        typer.echo(f"{len(written)} charts in {charts}", err=True)


def _read(runs: Sequence[str], store: str | None) -> tuple[list[LayerRow], list[str]]:
    from opbench.report.environment import environment_lines
    from opbench.store import Store
    from opbench.suites.layers.factors import rows as rows_of
    from opbench.suites.layers.factors_file import read

    if any(run.endswith(".csv") for run in runs):
        if len(runs) > 1:
            raise UserError("a report reads one file, or several runs")
        return read(Path(runs[0]))
    missing = "layers; measure some: opbench run layers"
    with Store.open(store, create=False) as opened:
        found = runs_with(opened, runs, lambda stored: stored.case.suite == "layers", missing)
    rows = [row for _, results in found for row in rows_of(results)]
    lines = (line for record, _ in found for line in environment_lines(record))
    return rows, list(dict.fromkeys(lines))
