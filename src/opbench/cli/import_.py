"""`opbench import FILE`: results of pyperf and pytest-benchmark, as runs of the store."""

from __future__ import annotations

from pathlib import Path

import typer

from opbench.cli.options import run_option


def import_(
    files: list[Path] = typer.Argument(
        ..., metavar="FILE...", help="JSON of pyperf (also .json.gz) or of pytest-benchmark."
    ),
    name: str = typer.Option("", help="A name for the run. [default: the file's]"),
    store: str = run_option("store"),
) -> None:
    """Import results of pyperf or pytest-benchmark into the store, each file as a run.

    They can then be listed, compared, exported, charted and reported like any other.
    """
    from opbench.errors import plural
    from opbench.imports.file import import_file
    from opbench.store import Store

    with Store.open(store) as opened:
        for file in files:
            record, imported = import_file(opened, file, name)
            count = plural(len(imported.pairs), "benchmark")
            typer.echo(f"{file}: imported {count} of {imported.tool} as run {record.id}")
