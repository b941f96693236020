"""`opbench ops`: the operators in the catalogue, and those that it lacks."""

from __future__ import annotations

import sys

import typer

from opbench.errors import UserError, unknown


def ops(
    name: str = typer.Argument("", metavar="[OPERATOR]", help="Show this operator in full."),
    category: str = typer.Option("", help="Only this category."),
    framework: str = typer.Option("", help="Only this framework."),
    uncovered: bool = typer.Option(
        False, "--uncovered", help="List what each framework has and the catalogue lacks."
    ),
) -> int:
    """List the operators of `opbench run ops`, or show one."""
    if uncovered and (name or category):
        what = f"operator {name}" if name else f"category {category}"
        raise UserError(
            f"--uncovered lists all that frameworks have and the catalogue lacks: {what} cannot "
            "narrow it; --framework does"
        )
    if uncovered:
        return print_uncovered(framework)
    if name and (category or framework):
        option = "--category" if category else "--framework"
        raise UserError(f"{option} narrows the list: give it, or an operator, but not both")
    if name:
        _show(name)
    else:
        _list(category, framework)
    return 0


def _list(category: str, framework: str) -> None:
    from opbench.report.table import console_for, grid, plain_table
    from opbench.suites.ops.catalogue import CATEGORIES, catalogue
    from opbench.suites.ops.coverage import SHOWN, stages_in

    if category and category not in CATEGORIES:
        raise UserError(unknown("category", category, CATEGORIES))
    if framework and framework not in SHOWN:
        raise UserError(unknown("framework", framework, SHOWN))
    shown = [framework] if framework else list(SHOWN)
    columns = ("operator", "category", *shown)
    rows = [
        (operator.name, operator.category, *(stages_in(operator, f) for f in shown))
        for operator in catalogue().values()
        if category in ("", operator.category)
    ]
    console_for(sys.stdout).print(grid(plain_table("", columns, rows, words=len(columns))))


def _show(name: str) -> None:
    from opbench import frameworks
    from opbench.suites.ops.catalogue import named
    from opbench.suites.ops.entry import FRAMEWORKS
    from opbench.suites.ops.programs import program, remarks, work

    operator = named(name)
    print(f"{operator.name} ({operator.category})")
    for size in ("typical", *operator.sizes):
        params = {**operator.params, **operator.sizes.get(size, {})}
        amount = work(operator, operator.values(size))
        per_call = f"   {amount.flops:.3g} FLOP, {amount.bytes:.3g} bytes" if amount else ""
        print(f"  {size:8} {', '.join(f'{k}={v}' for k, v in params.items())}{per_call}")
    print(f"  dtypes   {', '.join(operator.dtypes)}")
    for framework in FRAMEWORKS:
        source = program(operator, frameworks.get(framework), operator.values(), "cpu")
        text = f"({source.unsupported})" if source.unsupported else source.forward
        for remark in remarks(operator, frameworks.get(framework), operator.default_dtype, "cpu"):
            text += f"\n({remark})"
        for line in text.split("\n"):
            print(f"  {framework:14} {line}")
            framework = ""


def is_called(names: list[str], calls: set[str]) -> bool:
    """Whether one of its names is called, or that of the function of which it is in place."""
    return not calls.isdisjoint([*names, *(each.rstrip("_") for each in names)])


def print_uncovered(framework: str) -> int:
    """Print, for one framework or all, the operators that no entry of the catalogue calls."""
    from opbench.cli.env import building
    from opbench.envs.inventory import FRAMEWORKS, inventory
    from opbench.report.terminal.console import Console
    from opbench.suites.ops.called import covered

    if framework and framework not in FRAMEWORKS:
        raise UserError(unknown("framework", framework, FRAMEWORKS))
    console, errors = Console(highlight=False), Console(stderr=True)
    answered = 0
    for name in [framework] if framework else FRAMEWORKS:
        try:
            with building(errors, name) as on_line:
                operators = inventory(name, on_line)
        except UserError as error:
            errors.print(str(error), markup=False, soft_wrap=True)
            continue
        answered += 1
        calls = covered(name)
        # `arccos` of jax.numpy is `acos` too, so that of jax.lax is in the catalogue as well.
        for names in (names for listed in operators.values() for names in listed):
            if is_called(names, calls):
                calls.update(names)
        for place, listed in operators.items():
            missing = [names[0] for names in listed if not is_called(names, calls)]
            console.print(
                f"{name}, {place}: {len(listed)} operators, {len(listed) - len(missing)} in the "
                f"catalogue, {len(missing)} not",
                markup=False,
            )
            if missing:
                console.print(f"  {', '.join(missing)}", markup=False)
    return 0 if answered else 2
