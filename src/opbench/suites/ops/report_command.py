"""`opbench report ops`: operators by framework, size class and form, with what fusion gains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from opbench.cli.options import run_option
from opbench.cli.report_output import check_format, suite_results, write_to
from opbench.report.table import console_for

if TYPE_CHECKING:
    from opbench.suites.ops.results.rows import OperatorRow

FORMATS = ("terminal", "md", "csv", "json")


def ops(
    runs: list[str] = typer.Argument(
        None,
        metavar="[RUN]...",
        help="Runs to show side by side. [default: latest]",
        show_default=False,
    ),
    format: str = typer.Option("terminal", "--format", "-f", metavar="terminal|md|csv|json"),
    output: Path = typer.Option(None, "--output", "-o", help="Write here, not to the terminal."),
    store: str = run_option("store"),
) -> None:
    """Every operator measured; frameworks side by side; fusion."""
    from opbench.suites.ops import report as text
    from opbench.suites.ops.results import files

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
    from opbench.suites.ops.results.rows import SUITE
    from opbench.suites.ops.results.rows import rows as rows_of

    missing = "operators; measure some: opbench run ops"
    by_run, environment = suite_results(store, runs, (SUITE,), missing)
    return [row for results in by_run for row in rows_of(results)], environment
