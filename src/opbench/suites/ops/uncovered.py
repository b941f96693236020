"""`opbench ops --uncovered`: what each framework has and the catalogue lacks."""

from __future__ import annotations

from opbench.errors import UserError, unknown


def uncovered(framework: str = "") -> int:
    """Print, for one framework or all, the operators that no entry of the catalogue calls."""
    from rich.console import Console

    from opbench.cli.env import building
    from opbench.envs.inventory import FRAMEWORKS, inventory
    from opbench.suites.ops.called import covered

    if framework and framework not in FRAMEWORKS:
        raise UserError(unknown("framework", framework, FRAMEWORKS))
    console, errors = Console(highlight=False), Console(stderr=True)
    asked = 0
    for name in [framework] if framework else FRAMEWORKS:
        try:
            with building(errors, name) as on_line:
                has = inventory(name, on_line)
        except UserError as error:
            errors.print(str(error), markup=False, soft_wrap=True)
            continue
        asked += 1
        calls = covered(name)
        for place, names in has.items():
            lacking = [one for one in names if one not in calls and one.rstrip("_") not in calls]
            console.print(
                f"{name}, {place}: {len(names)} operators, {len(names) - len(lacking)} in the "
                f"catalogue, {len(lacking)} not",
                markup=False,
            )
            if lacking:
                console.print(f"  {', '.join(lacking)}", markup=False)
    return 0 if asked else 2
