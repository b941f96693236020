"""`opbench import FILE`: results of pyperf and pytest-benchmark, as runs of the store."""

from __future__ import annotations

from pathlib import Path

import typer


def import_(
    files: list[Path] = typer.Argument(
        ..., metavar="FILE...", help="JSON of pyperf (also .json.gz) or of pytest-benchmark."
    ),
    name: str = typer.Option("", help="A name for the run. [default: that of the file]"),
    store: str = typer.Option(
        None, metavar="URL", help="Where results go. [default: .opbench/results.db]"
    ),
) -> None:
    """Bring results of pyperf or pytest-benchmark into the store, each file as a run.

    They can then be listed, compared, exported, drawn over time and put on the page.
    """
    from opbench.imports.file import import_file
    from opbench.store import Store

    with Store.open(store) as opened:
        for file in files:
            record, found = import_file(opened, file, name)
            count = len(found.pairs)
            typer.echo(
                f"{file}: {count} benchmark{'s' if count > 1 else ''} of {found.tool}, "
                f"as run {record.id}"
            )
