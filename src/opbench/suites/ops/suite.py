"""The suite `ops`: the operator catalogue in every framework that has the operator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from opbench.define.definition import Definition
from opbench.define.suite import Command, Suite
from opbench.errors import UserError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from opbench.running.recording import Finished


#: Axes that are not those of some operators only; what has no inputs has no layout of its own.
COMMON = ("op", "category", "framework", "size", "dtype", "stage", "layout")


def has_torch(definition: Definition) -> bool:
    operator = getattr(definition, "operator", None)
    return operator is None or "torch" in operator.spelling


def having(definitions: list[Definition], axes: Mapping[str, Sequence[Any]]) -> list[Definition]:
    """Those that have the parameters or the forms asked for: of the others, what nobody asked for
    would be measured. A UserError for one that was named."""
    if not any(each.suite == "ops" for each in definitions):
        return definitions  # and the catalogue need not be read
    from opbench.define.expand import RESERVED
    from opbench.suites.ops.catalogue import find
    from opbench.suites.ops.definition import check_known

    asked = [axis for axis in axes if axis not in (*COMMON, *RESERVED)]
    able = [
        each
        for each in definitions
        if each.suite != "ops" or all(axis in each.axes for axis in asked)
    ]
    if not any(each.suite == "ops" for each in able):
        return definitions  # expanding them says that there is no such axis
    names = {each.name for each in able}
    for name in axes.get("op", ()):
        entry = find(str(name))
        if entry is not None and entry.name not in names:
            check_known(next(each for each in definitions if each.name == entry.name), asked)
    return able


def check_rows(
    definitions: list[Definition], names: Sequence[Any], rows: Sequence[Mapping[str, Any]]
) -> None:
    """UserError for an operator that was named and that has the axes of no row."""
    from opbench.define.expand import RESERVED
    from opbench.suites.ops.catalogue import find

    def able(each: Definition, row: Mapping[str, Any]) -> bool:
        return set(row) <= {*each.axes, *RESERVED, "stage"}

    entries = [entry.name for entry in map(find, map(str, names)) if entry is not None]
    for each in definitions:
        if each.name in entries and not any(able(each, row) for row in rows):
            others = [other.name for other in definitions if able(other, rows[0])]
            if others:
                lacking = [axis for axis in rows[0] if axis not in each.axes]
                raise UserError(
                    f"{each.name} does not take {', '.join(lacking)}, which the shapes give; these "
                    f"do: {', '.join(others)}"
                )


def check_dtypes(definitions: list[Definition], axes: Mapping[str, Sequence[Any]]) -> None:
    """UserError for a dtype that none of the operators that were named takes: it would be left out
    without a word."""
    if not axes.get("op"):
        return
    from opbench.suites.ops.catalogue import find

    entries = [entry for entry in map(find, map(str, axes["op"])) if entry is not None]
    choices = {each.name: each.axes["dtype"].choices for each in definitions if each.suite == "ops"}
    # What an operator on floats lacks has its reason; a dtype that none has is said to be unknown.
    known = {dtype for each in choices.values() for dtype in each}
    for dtype in axes.get("dtype", ()):
        if entries and dtype in known and not any(dtype in choices[each.name] for each in entries):
            names = ", ".join(each.name for each in entries)
            does_not = "does not take" if len(entries) == 1 else "do not take"
            able = ", ".join(dict.fromkeys(able for each in entries for able in each.dtypes))
            raise UserError(f"{names} {does_not} {dtype}; choose from: {able}")


class Ops(Suite):
    about = "every operator, forward and backward: torch, JAX, ONNX Runtime, MXNet, NumPy"
    # There are hundreds of operators: enough precision to see a regression, not to dissect one.
    options: ClassVar = {"precision": 0.05, "max_time_per_case": 4.0}

    def definitions(self) -> Iterable[Definition]:
        from opbench.suites.ops.definition import definitions

        return definitions()

    def narrow(self, definitions: list[Definition], options: Any) -> list[Definition]:
        """Without a word on frameworks or operators, what torch does not have is left out: a run
        need not say of each operator of another framework that torch lacks it."""
        able = having(definitions, options.axes)
        check_dtypes(definitions, options.axes)
        if options.shapes:
            check_rows(able, options.axes.get("op", ()), options.shapes)
        if {"framework", "op", "category"} & set(options.axes) or options.shapes:
            return able
        return [each for each in able if has_torch(each)]

    def tables(self, run: Finished) -> Iterable[RenderableType]:
        pairs = [
            (case.framework, result.outcome) for case, result in run.results if case.suite == "ops"
        ]
        if not pairs:
            return []
        from opbench.report.table import grid
        from opbench.suites.ops.results.outcomes import outcome_table

        return [grid(outcome_table(pairs))]

    def commands(self) -> Iterable[Command]:
        from opbench.suites.ops.command import ops
        from opbench.suites.ops.op_command import op
        from opbench.suites.ops.report_command import ops as report

        yield Command("ops", ops)
        yield Command("op", op)
        yield Command("ops", report, group="report")


SUITE = Ops()
