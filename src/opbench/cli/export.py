"""`opbench export`: stored results as CSV, JSON or Markdown."""

from __future__ import annotations

import sys
from pathlib import Path

import typer


def export(
    run: str = typer.Argument("last", help="A run's id or name, last, last~1, or all."),
    format: str = typer.Option("csv", "--format", "-f", metavar="csv|json|md", help="Format."),
    output: Path = typer.Option(None, "--output", "-o", help="A file; without it, the terminal."),
    metric: str = typer.Option(None, help="Only this metric."),
    store: str = typer.Option(
        None, metavar="URL", help="The store. [default: .opbench/results.db]"
    ),
) -> None:
    """Write stored results to a file or the terminal."""
    from opbench.define.definition import DefineError
    from opbench.report import export as exporters
    from opbench.store import Store

    samples = exporters.needs_samples(format)
    with Store.open(store, create=False) as opened:
        records = opened.runs() if run == "all" else [opened.find_run(run)]
        results = [
            stored
            for record in reversed(records)
            for stored in opened.results(run=record, metric=metric, samples=samples)
        ]
    if output is None:
        exporters.export(format, results, records, sys.stdout)
        return
    try:
        with output.open("w", encoding="utf-8", newline="") as stream:
            exporters.export(format, results, records, stream)
    except OSError as error:
        raise DefineError(f"cannot write {output}: {error.strerror}") from None
    typer.echo(f"{len(results)} results in {output}", err=True)
