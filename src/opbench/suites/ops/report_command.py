"""`opbench report ops`: operators by framework, size class and form, with what fusion gains."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from opbench.cli.options import run_option
from opbench.errors import UserError

if TYPE_CHECKING:
    from opbench.suites.ops.rows import OperatorRow

FORMATS = ("terminal", "md", "csv", "json")
FILE_WIDTH = 160


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
    if format not in FORMATS:
        raise UserError(f"unknown format '{format}'; there is {', '.join(FORMATS)}")
    rows, environment = _read(runs or [], store)
    if output is None:
        _print(rows, environment, format, sys.stdout)
        return
    try:
        with output.open("w", encoding="utf-8", newline="") as stream:
            _print(rows, environment, format, stream)
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}") from None


def _read(runs: Sequence[str], store: str | None) -> tuple[list[OperatorRow], list[str]]:
    from opbench.store import Store
    from opbench.suites.layers.csv_file import environment_lines
    from opbench.suites.ops.rows import SUITE
    from opbench.suites.ops.rows import rows as rows_of

    found: list[OperatorRow] = []
    environment: dict[str, None] = {}
    with Store.open(store, create=False) as opened:
        for record in [opened.find_run(run) for run in runs] or opened.runs():
            results = opened.results(run=record, samples=True)
            if any(stored.case.suite == SUITE for stored in results):
                found += rows_of(results)
                environment.update(dict.fromkeys(environment_lines(record)))
                if not runs:
                    break
    if not found:
        where = f"run {', '.join(runs)}" if runs else "this store"
        raise UserError(f"{where} has no results of operators; measure some: opbench run ops")
    return found, list(environment)


def _print(
    rows: Sequence[OperatorRow], environment: Sequence[str], format: str, stream: TextIO
) -> None:
    from rich.console import Console

    from opbench.suites.ops import files
    from opbench.suites.ops import report as text

    if format == "csv":
        files.to_csv(rows, stream)
    elif format == "json":
        files.to_json(rows, stream, environment)
    elif format == "md":
        text.to_markdown(rows, stream, environment)
    else:
        # A file has no width of its own, and a table in it should not be cut.
        width = None if stream.isatty() else FILE_WIDTH
        text.to_terminal(rows, Console(file=stream, width=width, highlight=False))
