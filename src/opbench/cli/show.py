"""`opbench show CASE`: what a case is, what was measured of it, and its standalone script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from opbench.case import Case
    from opbench.store.records import StoredResult


def show(
    case: str = typer.Argument(..., help="An id, a hash, or a unique part of one."),
    targets: list[str] = typer.Option(
        [], "--in", metavar="SUITE|FILE", help="Look among these; otherwise store and suites."
    ),
    script: bool = typer.Option(
        False, "--script", help="Print a standalone script that needs no opbench."
    ),
    store: str = typer.Option(
        None, metavar="URL", help="The store. [default: .opbench/results.db]"
    ),
) -> None:
    """Show a case: its source, its results, or a script that reproduces it."""
    from opbench.script import script as script_of

    found, results = _find(case, targets, store)
    if script:
        print(script_of(found), end="")
        return
    _describe(found, results)


def _find(text: str, targets: list[str], store: str | None) -> tuple[Case, list[StoredResult]]:
    """A stored case with its results, or a case that could be run."""
    from opbench.cli.lookup import among, defined, stored

    if targets:
        return among(text, defined(targets)), []
    kept = stored(text, store)
    if kept is not None:
        return kept
    return among(text, defined([])), []


def _describe(case: Case, results: list[StoredResult]) -> None:
    from rich.console import Console
    from rich.syntax import Syntax
    from rich.text import Text

    from opbench.report.units import format_interval

    console = Console(highlight=False)
    console.print(Text(case.id, style="bold"), Text(case.hash, style="dim"))
    facts = {
        "framework": case.framework,
        "runtime": case.runtime,
        "device": case.device,
        "threads": case.threads,
        "seed": case.seed,
        "way": case.way,
    }
    console.print(Text("  ".join(f"{name}={value}" for name, value in facts.items())))
    if case.unsupported:
        console.print(Text(f"unsupported: {case.unsupported}"))
    for title, source in (
        ("module level", case.globals),
        ("setup", case.setup),
        ("before each call, untimed", case.before),
        ("statement, timed", case.stmt),
    ):
        if source.strip():
            console.print(Text(f"\n# {title}", style="dim"))
            console.print(Syntax(source, "python", background_color="default", word_wrap=True))
    console.print()
    for stored in results:
        result = stored.result
        value = format_interval(result.estimate, result.low, result.high, result.unit)
        text = value if result.ok else result.outcome_text
        console.print(Text(f"{stored.run_id}  {result.environment}  {result.metric}  {text}"))
        for warning in result.warnings:
            console.print(Text(f"    {warning.code}: {warning.text}", style="yellow"))
        for line in str(result.detail.get("traceback") or "").splitlines()[-6:]:
            console.print(Text(f"    {line}", style="dim"))
    if not results:
        console.print(Text("Not measured yet."))
