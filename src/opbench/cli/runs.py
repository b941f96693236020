"""`opbench runs`: what the store holds, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from opbench.cli.options import run_option

if TYPE_CHECKING:
    from opbench.store.records import RunRecord


def runs(
    store: str = run_option("store"),
    limit: int = typer.Option(20, "-n", min=1, help="How many to list."),
) -> None:
    """List the stored runs, newest first: status, outcomes, and the command line."""
    from rich.text import Text

    from opbench.report.terminal.console import Console
    from opbench.store import Store

    with Store.open(store, create=False) as opened:
        records = opened.runs(limit)
        tally = opened.tally()
    console = Console(highlight=False)
    if not records:
        console.print("No runs yet; measure with: opbench run")
    name = max((len(record.name) for record in records), default=0)
    for record in records:
        line = Text(f"{record.id:<20}  ", style="bold")
        line.append(facts(record, tally.get(record.id, {}), name), style="not bold")
        # A long command is cut at the edge of a terminal; a pipe has no edge.
        command = Text(f"    {record.command}", style="dim")
        if console.is_terminal:
            command.truncate(console.width, overflow="ellipsis")
        console.print(line, soft_wrap=True)
        console.print(command, soft_wrap=True)


def facts(record: RunRecord, counts: dict[str, int], name: int) -> str:
    from datetime import datetime

    begun = datetime.fromtimestamp(record.created).strftime("%Y-%m-%d %H:%M")
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
    ended = f"{record.status}: {outcomes}" if outcomes else record.status
    columns = [begun, f"{record.commit[:8]:<8}", f"{record.name:<{name}}", ended]
    return "  ".join(column for column in columns if column)
