"""Statements written on the command line, as definitions: `opbench time 'x @ x' 'torch.mm(x, x)'`.

The statements are the values of an axis, so that the first one is the baseline of the others; what
`-a n=64,512` gives are further axes, and variables of the setup.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from opbench import frameworks
from opbench.case import Case, Label, label_text
from opbench.define.definition import Axis, Context, Definition, Point
from opbench.define.program import Program, lines
from opbench.define.reading import check_python, shape
from opbench.errors import UserError
from opbench.frameworks.framework import Framework

SUITE = "time"
#: The axis of the statements.
STATEMENT = "statement"
#: What gives a name a value besides assignments, arguments and imports.
NAMING = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.ExceptHandler,
    ast.MatchAs,
    ast.MatchStar,
)


@dataclass(frozen=True)
class WrittenDefinition(Definition):
    setup: str = ""
    #: Imports of all frameworks that a statement or the setup names.
    imports: str = ""

    def cases(self, point: Point, context: Context) -> Iterator[Case]:
        statement = str(point[STATEMENT])
        values = {name: value for name, value in point.items() if name != STATEMENT}
        mentioned = f"{self.setup}\n{statement}"
        if "device" in names_in(mentioned):
            values.setdefault("device", context.device)
        unsupported = ""
        if context.device != "cpu" and "device" not in values and "cuda" not in mentioned:
            unsupported = (
                f"neither statement nor setup uses `device`, so it cannot run on {context.device}"
            )
        given = (f"{name} = {spelled(value)}" for name, value in values.items())
        program = Program(
            statement,
            globals=self.imports,
            setup=lines(*given, self.setup),
            unsupported=unsupported,
        )
        yield self.case("call", "statement", program, point, context)


def definition_of(
    statements: Sequence[str],
    setup: str = "",
    axes: Mapping[str, Sequence[str]] | None = None,
    framework: str = "",
) -> WrittenDefinition:
    """One definition for all statements; a framework that is not named is found by its name."""
    if not statements:
        raise UserError("give at least one statement, for example: opbench time 'sum(range(100))'")
    texts = [statement.strip() for statement in statements]
    for index, text in enumerate(texts):
        if text in texts[:index]:
            raise UserError(f"the statement {text!r} is given twice; give two that differ")
        check_python(text, "the statement")
    check_python(setup, "--setup", empty=True)
    grid: dict[str, tuple[Label, ...]] = {
        name: tuple(map(label, values)) for name, values in (axes or {}).items()
    }
    for name in grid:
        if not name.isidentifier() or name == STATEMENT:
            raise UserError(f"-a {name}: the name of a value must be a Python name of its own")
    mentioned = names_in("\n".join([setup, *texts]))
    if unused := [name for name in grid if name not in mentioned]:
        advice = "leave it out"
        if lacking := without_value(texts, setup, grid):
            instead = f"{lacking[0]}={','.join(map(label_text, grid[unused[0]]))}"
            advice = f"{lacking[0]} has no value: did you mean -a {instead}?"
        raise UserError(
            f"-a {unused[0]}: neither a statement nor --setup uses {unused[0]}; {advice}"
        )
    found = [each for each in named_frameworks() if mentioned & spellings(each)]
    chosen = frameworks.get(framework) if framework else (found or [frameworks.get("python")])[0]
    return WrittenDefinition(
        SUITE,
        "statements",
        axes={**{name: Axis(each) for name, each in grid.items()}, STATEMENT: Axis(tuple(texts))},
        framework=chosen.name,
        stages=("call",),
        setup=setup,
        imports=lines(*(import_of(each, mentioned) for each in found)),
    )


def named_frameworks() -> list[Framework]:
    """Those that a name in a statement stands for, the one that code is attributed to first."""
    every = (frameworks.get(name) for name in frameworks.names())
    return sorted((each for each in every if each.module == each.name), key=lambda each: each.rank)


def spellings(framework: Framework) -> set[str]:
    return {framework.module, *framework.aliases}


def import_of(framework: Framework, mentioned: set[str]) -> str:
    plain = f"import {framework.module}" if framework.module in mentioned else ""
    return lines(framework.imports(), plain)


def names_in(source: str) -> set[str]:
    """The names that the source reads."""
    found = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name))
    return {node.id for node in found if isinstance(node.ctx, ast.Load)}


def without_value(statements: Sequence[str], setup: str, axes: Iterable[str]) -> list[str]:
    """Names that statements or setup read, and that nothing there gives a value: what a mistake is
    explained with. They may get one in ways that the source does not show."""
    source = "\n".join([setup, *map(str.strip, statements)])
    known = {*dir(builtins), *axes, "device"}
    for framework in named_frameworks():
        known |= spellings(framework)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            known.add(node.id)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.alias):
            known.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, NAMING):
            known.add(node.name or "")
    return [] if "*" in known else sorted(names_in(source) - known)


def to_give(name: str) -> str:
    """How a name gets a value: a module of Python is imported."""
    if name in sys.stdlib_module_names:
        return f"--setup 'import {name}'"
    return f"--setup '{name} = …', or -a {name}=…"


def spelled(value: Label) -> str:
    """A value of an axis as Python: `2x3` is a shape here as everywhere else."""
    found = shape(value) if isinstance(value, str) else None
    return repr(value if found is None else found)


def label(text: str) -> Label:
    """A number where the text is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"True": True, "False": False, "None": None}.get(text, text)
