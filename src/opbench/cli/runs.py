"""`opbench runs`: what the store holds, newest first."""

from __future__ import annotations

import typer


def runs(
    store: str = typer.Option(
        None, metavar="URL", help="The store. [default: .opbench/results.db]"
    ),
    limit: int = typer.Option(20, "-n", min=1, help="How many, newest first."),
) -> None:
    """List the stored runs, newest first."""
    from datetime import datetime

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from opbench.store import Store

    with Store.open(store, create=False) as opened:
        records = opened.runs(limit)
        tally = opened.tally()
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("run", "name", "begun", "status", "results", "commit", "command"):
        grid.add_column(column, overflow="fold")
    for record in records:
        counts = tally.get(record.id, {})
        text = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        begun = datetime.fromtimestamp(record.created).strftime("%Y-%m-%d %H:%M")
        cells = (
            record.id,
            record.name,
            begun,
            record.status,
            text,
            record.commit[:10],
            record.command,
        )
        grid.add_row(*(Text(cell) for cell in cells))
    Console(highlight=False).print(grid if records else "No runs yet: opbench run")
