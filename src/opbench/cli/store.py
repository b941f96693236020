"""`opbench store`: move results between stores, verify one, bring one up to date."""

from __future__ import annotations

from contextlib import closing

import typer

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
    target: str = typer.Argument(metavar="TO", help="The same; made when it is not there."),
    run: list[str] = typer.Option([], "--run", metavar="RUN", help="Only this run (id or name)."),
) -> None:
    """Copy runs with all their results. What TO has already stays as it is."""
    from rich.console import Console

    from opbench.store import Store
    from opbench.store.copying import all_runs
    from opbench.store.copying import copy as copied
    from opbench.store.database import Database

    with Store.open(source, create=False) as opened:
        chosen = list(dict.fromkeys(opened.find_run(ref).id for ref in run))
    console = Console(stderr=True)

    def on_run(run_id: str, results: int) -> None:
        console.print(f"{run_id}: {results} results", markup=False, highlight=False)

    with (
        closing(Database.open(source, create=False)) as ours,
        closing(Database.open(target, create=True)) as theirs,
    ):
        done = copied(ours, theirs, chosen or all_runs(ours), on_run)
    known = f", {done.known} were there already" if done.known else ""
    print(f"copied {done.results} results of {done.runs} runs to {theirs.address.shown}{known}")


@store.command()
def check(
    where: str = typer.Argument(None, metavar="[STORE]", help="[default: .opbench/results.db]"),
) -> int:
    """Read everything once and name what does not fit. Exit code 1 when something does not."""
    from opbench.store.checking import check as checked
    from opbench.store.database import Database

    with closing(Database.open(where, create=False)) as database:
        found = checked(database)
    counts = ", ".join(f"{count} {name}" for name, count in found.counts.items())
    print(f"{database.address.shown}: schema {found.schema}; {counts}")
    for fault in found.faults[:LISTED]:
        print(f"  {fault}")
    if len(found.faults) > LISTED:
        print(f"  … and {len(found.faults) - LISTED} more")
    print("in order" if not found.faults else f"{len(found.faults)} faults")
    return 1 if found.faults else 0


@store.command()
def upgrade(
    where: str = typer.Argument(None, metavar="[STORE]", help="[default: .opbench/results.db]"),
) -> None:
    """Bring a store of an older opbench to this one's schema. Older ones then no longer read it."""
    from opbench.store.address import parse_address
    from opbench.store.database import upgrade as upgraded

    before, after = upgraded(where)
    shown = parse_address(where).shown
    print(f"{shown}: schema {before}" + (f" → {after}" if before != after else ", up to date"))
