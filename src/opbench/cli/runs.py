"""`opbench runs`: what the store holds, newest first; and deleting or renaming of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from opbench.cli.completion import run_names
from opbench.cli.options import AT_LEAST_1, run_option
from opbench.errors import UserError, plural, printable

if TYPE_CHECKING:
    from opbench.store import Store
    from opbench.store.records import RunRecord


def runs(
    store: str = run_option("store"),
    limit: str = typer.Option(
        "20", "-n", metavar="N", callback=AT_LEAST_1, help="How many to list."
    ),
    delete: list[str] = typer.Option(
        [],
        "--delete",
        metavar="RUN",
        help="Delete this run (id, name, last) with its results; may be repeated.",
        autocompletion=run_names,
    ),
    rename: tuple[str, str] = typer.Option(
        None, "--rename", metavar="RUN NAME", help="Call this run NAME.", autocompletion=run_names
    ),
    yes: bool = typer.Option(False, "--yes", "-y", help="With --delete: do not ask."),
) -> None:
    """List the stored runs, newest first, with their outcomes."""
    from opbench.store import Store

    with Store.open(store, create=False) as opened:
        if rename:
            _rename(opened, *rename)
        for ref in delete:
            _delete(opened, ref, yes)
        if not (rename or delete):
            _list(opened, int(limit))


def _rename(store: Store, ref: str, name: str) -> None:
    run = store.find_run(ref)
    store.rename_run(run.id, name)
    before = f", called {printable(run.name)} before" if run.name else ""
    typer.echo(f"run {run.id} is {printable(name) or 'without a name'} now{before}")
    others = [other for other in store.runs() if name and other.name == name and other.id != run.id]
    if others:
        latest = max([run, *others], key=lambda each: each.created)
        have = "has" if len(others) == 1 else "have"
        also = f"{plural(len(others), 'other run')} {have} this name"
        typer.echo(f"{also}; it stands for the latest, {latest.id}")


def _delete(store: Store, ref: str, yes: bool) -> None:
    run = store.find_run(ref)
    count = sum(store.tally(run).get(run.id, {}).values())
    name = f" ({printable(run.name)})" if run.name else ""
    what = f"run {run.id}{name}, {run.status}, {plural(count, 'result')}"
    if not yes:
        if not sys.stdin.isatty():
            raise UserError(f"--delete would delete {what}; confirm with --yes")
        if not typer.confirm(f"Delete {what}?"):
            return
    store.delete_run(run.id)
    typer.echo(f"deleted {what}")


def _list(store: Store, limit: int) -> None:
    from rich.text import Text

    from opbench.report.terminal.console import Console

    records = store.runs(limit)
    tally = store.tally()
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
