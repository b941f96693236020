"""`opbench time`: compare statements at once, without a file and without a store."""

from __future__ import annotations

from typing import Any

import typer

from opbench.cli.options import MARGIN, takes
from opbench.cli.quick import CHANGES, answer


@takes(
    "time",
    axes={"help": "A variable of setup and statements; a row per value.", "metavar": "n=64,512"},
    **CHANGES,
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
    margin: str = MARGIN,
) -> int:
    """Compare statements: a row per size, a column per statement."""
    from opbench import frameworks
    from opbench.define.expand import expand
    from opbench.errors import nearest
    from opbench.plan.devices import check_visible
    from opbench.suites.snippets.written import STATEMENT, definition_of, to_give, without_value

    axes = options.pop("axes", {})
    fields = {name: options[name] for name in ("device", "threads", "seed") if name in options}
    cases = expand([definition_of(statements, setup, axes, framework)], **fields)
    base = statements[0].strip() if len(statements) > 1 else ""
    check_visible(case.device for case in cases)  # before what cannot run there is explained
    code = answer(options, STATEMENT, float(margin), base=base, cases=cases)
    lacking = without_value(statements, setup, axes)
    if code == 1 and lacking:
        name = lacking[0]
        meant = nearest(name, frameworks.names(), cutoff=0.6)
        meant += " Otherwise:" if meant else ""
        print(f"{name} has no value{meant or '; give it one:'} {to_give(name)}")
    return code
