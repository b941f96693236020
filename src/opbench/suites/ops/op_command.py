"""`opbench op`: one operator, at the shapes and in the frameworks one has, at once."""

from __future__ import annotations

from typing import Any

import typer

from opbench.cli.options import takes
from opbench.cli.quick import CHANGES, MARGIN, answer


@takes("time", **CHANGES)
def op(
    options: dict[str, Any],
    operator: str = typer.Argument(metavar="OPERATOR", help="An operator of `opbench ops`."),
    framework: str = typer.Option(
        "torch", "--framework", metavar="NAMES", help="Compare these, the first as the baseline."
    ),
    stage: str = typer.Option(
        "", "--stage", metavar="NAME", help="forward, backward or forward_backward."
    ),
    margin: str = MARGIN,
) -> int:
    """Measure one operator at once: a row per size, a column per framework."""
    from opbench.define.reading import fraction, names
    from opbench.errors import UserError, unknown
    from opbench.suites.ops.catalogue import catalogue, find

    entry = find(operator)
    if entry is None:
        raise UserError(unknown("operator", operator, catalogue()))
    compared = names(framework)
    axes = {**options.pop("axes", {}), "op": [entry.name], "framework": list(compared)}
    stages = {"stages": [stage]} if stage else {}
    base = compared[0] if len(compared) > 1 else ""
    asked_for = {**options, "targets": ["ops"], "axes": axes, **stages}
    return answer(asked_for, "framework", fraction(margin), base=base)
