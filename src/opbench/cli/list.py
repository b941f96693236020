"""`opbench list`: the suites there are, or the cases of a suite or file."""

from __future__ import annotations

import sys
from typing import Any

import typer

from opbench.cli.completion import suite_names
from opbench.cli.options import takes


@takes("list")
def list_(
    options: dict[str, Any],
    targets: list[str] = typer.Argument(
        None,
        metavar="[SUITE | FILE]...",
        help="Whose cases to list; without any, the suites.",
        autocompletion=suite_names,
    ),
    hashes: bool = typer.Option(False, "--hash", help="Print each case's hash before its id."),
) -> None:
    """List suites, or the ids of cases of suites and files."""
    if not targets and not options.keys() - {"device", "threads"}:
        _suites()
        return

    from opbench.define import suites
    from opbench.define.targets import resolve
    from opbench.plan.options import RunOptions, asked

    found = resolve(targets or [])
    # A run file says which of them, as for `opbench run`.
    wished = RunOptions(**{**asked(found.options), **asked(options)})
    cases = suites.cases(found.definitions, wished)
    if hashes:
        sys.stdout.writelines(f"{case.hash[:12]}  {case.id}\n" for case in cases)
    else:
        sys.stdout.writelines(f"{case.id}\n" for case in cases)


def _suites() -> None:
    from opbench.define.suites import named

    width = max(len(name) for name in named())
    for name, suite in named().items():
        print(f"{name:<{width}}  {suite.about}")
    print("\nopbench list SUITE lists its cases; opbench run SUITE measures them.")
