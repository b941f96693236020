"""`opbench time`: compare statements at once, without a file and without a store."""

from __future__ import annotations

import sys
from typing import Any

import typer

from opbench.cli.options import takes

#: Quick answers: a ratio to a few percent, in a second or two per statement and size.
PRECISION, SECONDS = 0.03, 1.5


@takes(
    "time",
    axes={"help": "A variable of setup and statements; a row per value.", "metavar": "n=64,512"},
    precision={"default": PRECISION},
    max_time_per_case={"default": SECONDS, "metavar": "1.5s"},
    pool={
        "default": True,
        "flags": ("--no-pool",),
        "help": "Start fresh workers instead of those of the pool (docs/workers.md).",
    },
    save={"default": False, "flags": ("--save",), "help": "Store the results as `run` does."},
)
def time(
    options: dict[str, Any],
    statements: list[str] = typer.Argument(
        metavar="STATEMENT...", help="Python; torch, np, jnp and others are imported if named."
    ),
    setup: str = typer.Option(
        "", "--setup", "-s", metavar="CODE", help="Runs once before the statements, untimed."
    ),
    framework: str = typer.Option(
        "", "--framework", metavar="NAME", help="The framework. [default: the one that is named]"
    ),
    margin: str = typer.Option("3%", "--margin", help="Same: the whole interval is within ± this."),
) -> int:
    """Compare statements at once: a row per size, a column per statement."""
    from rich.console import Console

    from opbench.api.run import execute
    from opbench.cli.progress import progress
    from opbench.define.expand import expand
    from opbench.define.reading import fraction
    from opbench.suites.snippets.written import STATEMENT, definition_of

    try:
        within = fraction(margin)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    axes = options.pop("axes", {})
    fields = {name: options[name] for name in ("device", "threads", "seed") if name in options}
    definition = definition_of(statements, setup, axes, framework)
    cases = expand([definition], **fields)
    if len(statements) > 1:
        options["baseline"] = f"{STATEMENT}={statements[0].strip()}"
    with progress(Console(stderr=True)) as listener:
        finished = execute(options, cases=cases, listener=listener)
    _show(finished, within)
    if finished.status == "interrupted":
        return 130
    return 1 if finished.failures else 0


def _show(finished: Any, margin: float) -> None:
    from opbench.plan.groups import Baseline
    from opbench.report.pivot import pivots
    from opbench.report.table import console_for, grid
    from opbench.report.terminal.run import problems
    from opbench.suites.snippets.written import STATEMENT

    console = console_for(sys.stdout)
    first = next((str(case.axes[STATEMENT]) for case, _ in finished.results), "")
    for table in pivots(finished.results, Baseline(STATEMENT, first), margin):
        console.print(grid(table))
    for part in problems(finished.results):
        console.print(part)
    if finished.store:
        print(f"Run {finished.id} {finished.status}; results in {finished.store}")
