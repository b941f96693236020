"""`opbench store`: move results between stores, verify one, bring one up to date."""

from __future__ import annotations

from contextlib import closing

import typer

from opbench.cli.completion import run_names
from opbench.errors import plural

store = typer.Typer(
    name="store",
    help="Stores as a whole: copy, check, upgrade.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

#: Faults listed before the rest is counted.
LISTED = 20


@store.command()
def copy(
    source: str = typer.Argument(metavar="FROM", help="A path ending in .db, or a URL."),
    target: str = typer.Argument(metavar="TO", help="The same; created if missing."),
    run: list[str] = typer.Option(
        [], "--run", metavar="RUN", help="Only this run (id or name).", autocompletion=run_names
    ),
) -> None:
    """Copy runs with all their results. What TO has is left alone."""
    from opbench.report.terminal.console import Console
    from opbench.store import Store
    from opbench.store.connection.database import Database
    from opbench.store.copying import all_runs
    from opbench.store.copying import copy as copied

    with Store.open(source, create=False) as opened:
        chosen = list(dict.fromkeys(opened.find_run(ref).id for ref in run))
    console = Console(stderr=True)

    def on_run(run_id: str, results: int) -> None:
        console.print(f"{run_id}: {plural(results, 'result')}", markup=False, highlight=False)

    with (
        closing(Database.open(source, create=False)) as ours,
        closing(Database.open(target, create=True)) as theirs,
    ):
        try:
            done = copied(ours, theirs, chosen or all_runs(ours), on_run)
        except KeyboardInterrupt:
            console.print("not complete: the same command copies the rest", highlight=False)
            raise
    copied_text = f"{plural(done.results, 'result')} of {plural(done.runs, 'run')}"
    known = f"; {done.known} already there" if done.known else ""
    print(f"copied {copied_text} to {theirs.address.shown}{known}")


@store.command()
def check(
    where: str = typer.Argument(None, metavar="[STORE]", help="[default: .opbench/results.db]"),
) -> int:
    """Read every row and list what is damaged. Exits with 1 if anything is."""
    from opbench.store.checking import check as checked
    from opbench.store.connection.database import Database

    with closing(Database.open(where, create=False)) as database:
        report = checked(database)
    counts = ", ".join(f"{count} {name}" for name, count in report.counts.items())
    print(f"{database.address.shown}: schema {report.schema}; {counts}")
    for fault in report.faults[:LISTED]:
        print(f"  {fault}")
    if len(report.faults) > LISTED:
        print(f"  … and {len(report.faults) - LISTED} more")
    print(plural(len(report.faults), "fault") if report.faults else "no faults")
    return 1 if report.faults else 0


@store.command()
def upgrade(
    where: str = typer.Argument(None, metavar="[STORE]", help="[default: .opbench/results.db]"),
) -> None:
    """Upgrade a store to this opbench's schema. Older versions can no longer read it."""
    from opbench.store.connection.address import parse_address
    from opbench.store.connection.database import upgrade as upgraded

    before, after = upgraded(where)
    shown = parse_address(where).shown
    print(f"{shown}: schema {before}" + (f" → {after}" if before != after else ", up to date"))
