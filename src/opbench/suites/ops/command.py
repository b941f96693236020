"""`opbench ops`: what the catalogue of operators has, and what it lacks."""

from __future__ import annotations

import typer

from opbench.errors import UserError


def ops(
    name: str = typer.Argument("", metavar="[OPERATOR]", help="Show this one in full."),
    category: str = typer.Option("", help="Only this category."),
    framework: str = typer.Option("", help="Only this framework."),
    uncovered: bool = typer.Option(
        False, "--uncovered", help="What each framework has and the catalogue lacks."
    ),
) -> int:
    """The operators that `opbench run ops` measures, and how each framework spells them."""
    if uncovered:
        from opbench.suites.ops.uncovered import uncovered as show_uncovered

        return show_uncovered(framework)
    if name:
        _show(name)
    else:
        _list(category, framework)
    return 0


def _list(category: str, framework: str) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from opbench.suites.ops.catalogue import CATEGORIES, catalogue
    from opbench.suites.ops.coverage import SHOWN, mark

    if category and category not in CATEGORIES:
        raise UserError(f"no category '{category}'; there is {', '.join(CATEGORIES)}")
    if framework and framework not in SHOWN:
        raise UserError(f"no framework '{framework}'; there is {', '.join(SHOWN)}")
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown = [framework] if framework else list(SHOWN)
    for column in ("operator", "category", *shown):
        grid.add_column(column)
    for operator in catalogue().values():
        if category in ("", operator.category):
            grid.add_row(operator.name, operator.category, *(mark(operator, f) for f in shown))
    Console(highlight=False).print(grid)


def _show(name: str) -> None:
    import difflib

    from opbench import frameworks
    from opbench.suites.ops.catalogue import catalogue, find
    from opbench.suites.ops.entry import FRAMEWORKS
    from opbench.suites.ops.programs import program, work

    operator = find(name)
    if operator is None:
        near = difflib.get_close_matches(name, catalogue(), n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "opbench ops lists them"
        raise UserError(f"no operator '{name}'; {hint}")
    print(f"{operator.name} ({operator.category})")
    for size in ("typical", *operator.sizes):
        given = {**operator.params, **operator.sizes.get(size, {})}
        amount = work(operator, operator.values(size))
        per_call = f"   {amount.flops:.3g} FLOP, {amount.bytes:.3g} bytes" if amount else ""
        print(f"  {size:8} {', '.join(f'{k}={v}' for k, v in given.items())}{per_call}")
    for framework in FRAMEWORKS:
        made = program(operator, frameworks.get(framework), operator.values(), "cpu")
        text = made.unsupported and f"({made.unsupported})"
        for line in (text or made.forward).split("\n"):
            print(f"  {framework:14} {line}")
            framework = ""
