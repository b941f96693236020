"""`opbench report ops`: operators by framework, size class and form, with what fusion gains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from opbench.cli.options import run_option
from opbench.cli.report_output import check_format, runs_with, write_to
from opbench.report.table import console_for

if TYPE_CHECKING:
    from opbench.suites.ops.rows import OperatorRow

FORMATS = ("terminal", "md", "csv", "json")


def ops(
    runs: list[str] = typer.Argument(
        None,
        metavar="[RUN]...",
        help="Runs, laid side by side. [default: latest]",
        show_default=False,
    ),
    format: str = typer.Option("terminal", "--format", "-f", metavar="terminal|md|csv|json"),
    output: Path = typer.Option(None, "--output", "-o", help="A file; without it, the terminal."),
    store: str = run_option("store"),
) -> None:
    """Every operator measured: quantiles, mean, interval; frameworks side by side; fusion."""
    from opbench.suites.ops import files
    from opbench.suites.ops import report as text

    check_format(format, FORMATS)
    rows, environment = _read(runs or [], store)

    def write(stream: TextIO) -> None:
        if format == "csv":
            files.to_csv(rows, stream)
        elif format == "json":
            files.to_json(rows, stream, environment)
        elif format == "md":
            text.to_markdown(rows, stream, environment)
        else:
            text.to_terminal(rows, console_for(stream))

    write_to(output, write)


def _read(runs: Sequence[str], store: str | None) -> tuple[list[OperatorRow], list[str]]:
    from opbench.report.environment import environment_lines
    from opbench.store import Store
    from opbench.suites.ops.rows import SUITE
    from opbench.suites.ops.rows import rows as rows_of

    missing = "operators; measure some: opbench run ops"
    with Store.open(store, create=False) as opened:
        found = runs_with(opened, runs, lambda stored: stored.case.suite == SUITE, missing)
    rows = [row for _, results in found for row in rows_of(results)]
    lines = (line for record, _ in found for line in environment_lines(record))
    return rows, list(dict.fromkeys(lines))
