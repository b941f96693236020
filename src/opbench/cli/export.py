"""`opbench export`: stored results in our formats and in those of other tools."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from opbench.cli.completion import export_formats, run_names
from opbench.cli.options import run_option
from opbench.files import writing

if TYPE_CHECKING:
    from opbench.store.records import StoredResult


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
        _say_what_is_missing(format, exporters.export(format, results, records, stream))
        return
    text: dict[str, Any] = {"encoding": "utf-8", "newline": "", "errors": "backslashreplace"}
    mode: dict[str, Any] = {"mode": "wb"} if binary else {"mode": "w", **text}
    with writing(output) as partial, partial.open(**mode) as file:
        missing = exporters.export(format, results, records, file)
    typer.echo(f"{plural(len(results) - len(missing), 'result')} in {output}", err=True)
    _say_what_is_missing(format, missing)


def _say_what_is_missing(format: str, missing: Sequence[StoredResult]) -> None:
    """How many of which metric, those that failed apart: `6 memory, 1 time failed`."""
    from opbench.errors import plural
    from opbench.report.export import holds

    if missing:
        kinds = Counter(
            each.metric if each.ok else f"{each.metric} {each.outcome.replace('_', ' ')}"
            for each in (stored.result for stored in missing)
        )
        which = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        count = plural(len(missing), "result")
        typer.echo(f"{count} left out ({which}): {format} holds {holds(format)}", err=True)
