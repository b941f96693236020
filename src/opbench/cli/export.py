"""`opbench export`: stored results in our formats and in those of other tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from opbench.cli.completion import export_formats, run_names
from opbench.cli.options import run_option
from opbench.files import writing


def export(
    run: str = typer.Argument(
        "last", help="A run's id or name, last, last~1, or all.", autocompletion=run_names
    ),
    format: str = typer.Option(
        "csv",
        "--format",
        "-f",
        metavar="NAME",
        autocompletion=export_formats,
        help="csv, json, md, parquet, pyperf, pytest-benchmark, github-action-benchmark, bencher, "
        "pytorch-hud, pytorch-ci.",
    ),
    output: Path = typer.Option(None, "--output", "-o", help="Write here, not to the terminal."),
    metric: str = typer.Option(None, help="Only this metric."),
    schema: bool = typer.Option(False, "--schema", help="Print the JSON Schema of -f json."),
    store: str = run_option("store"),
) -> None:
    """Write stored results to a file or the terminal."""
    from opbench.errors import UserError, plural
    from opbench.report import export as exporters
    from opbench.store import Store

    if schema:
        from opbench.report.export.json import schema_text

        print(schema_text(), end="")
        return
    samples, binary = exporters.needs_samples(format), exporters.is_binary(format)
    if binary and output is None and sys.stdout.isatty():
        raise UserError(f"{format} is binary; name a file with -o")
    with Store.open(store, create=False) as opened:
        records = opened.runs() if run == "all" else [opened.find_run(run)]
        results = [
            stored
            for record in reversed(records)
            for stored in opened.results(run=record, metric=metric, samples=samples)
        ]
    if output is None:
        stream = sys.stdout.buffer if binary else sys.stdout
        written = exporters.export(format, results, records, stream)
        _say_what_is_missing(format, len(results) - written)
        return
    text: dict[str, Any] = {"encoding": "utf-8", "newline": "", "errors": "backslashreplace"}
    mode: dict[str, Any] = {"mode": "wb"} if binary else {"mode": "w", **text}
    with writing(output) as partial, partial.open(**mode) as file:
        written = exporters.export(format, results, records, file)
    typer.echo(f"{plural(written, 'result')} in {output}", err=True)
    _say_what_is_missing(format, len(results) - written)


def _say_what_is_missing(format: str, count: int) -> None:
    from opbench.errors import plural
    from opbench.report.export import holds

    if count:
        text = f"{plural(count, 'result')} left out: {format} holds {holds(format)}"
        typer.echo(text, err=True)
