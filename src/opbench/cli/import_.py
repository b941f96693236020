"""`opbench import FILE`: results of other tools, as runs of the store."""

from __future__ import annotations

from pathlib import Path

import typer

from opbench.cli.options import run_option


def import_(
    files: list[Path] = typer.Argument(
        ...,
        metavar="FILE...",
        help="JSON of pyperf (also .json.gz) or pytest-benchmark, pickles of the Opacus layer "
        "benchmarks.",
    ),
    name: str = typer.Option("", help="A name for the run. [default: the file's]"),
    store: str = run_option("store"),
) -> None:
    """Import results of pyperf, pytest-benchmark or Opacus into the store.

    Each file becomes a run; the pickles that one Opacus command wrote become one run. They are
    read, never executed. Imported runs can be listed, compared, exported and reported like others.
    """
    from opbench.errors import plural
    from opbench.imports.file import import_files
    from opbench.store import Store

    with Store.open(store) as opened:
        for record, parts in import_files(opened, files, name):
            benchmarks = sum(len(dict(part.found.pairs)) for part in parts)
            single = len(parts) == 1
            origin = str(
                parts[0].path if single else f"{len(parts)} files in {parts[0].path.parent}"
            )
            tool = parts[0].found.tool
            count = plural(benchmarks, "benchmark")
            typer.echo(f"{origin}: imported {count} of {tool} as run {record.id}")
