"""`opbench op`: one operator, at the shapes and in the frameworks one has, at once."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from opbench.cli.options import MARGIN, run_option, takes
from opbench.cli.quick import CHANGES, answer

if TYPE_CHECKING:
    from opbench.suites.ops.entry import Operator


@takes("time", **CHANGES)
def op(
    options: dict[str, Any],
    operator: str = typer.Argument(metavar="OPERATOR", help="An operator of `opbench ops`."),
    framework: str = typer.Option(
        "",
        "--framework",
        metavar="NAMES",
        help="Compare these, the first as the baseline. [default: torch]",
        show_default=False,
    ),
    stage: str = typer.Option(
        "", "--stage", metavar="NAME", help="forward, backward or forward_backward."
    ),
    table: str = run_option("shapes"),
    margin: str = MARGIN,
) -> int:
    """Measure an operator: a row per size, a column per framework."""
    from opbench import frameworks as known
    from opbench.define.reading import names
    from opbench.errors import UserError, first_of
    from opbench.suites.ops.catalogue import named
    from opbench.suites.ops.definition import check_known, operator_definition
    from opbench.suites.ops.programs import remarks

    if not operator.strip():
        raise UserError("name an operator, for example: opbench op add (opbench ops lists them)")
    several = [named(each).name for each in names(operator)]
    if len(several) > 1:
        raise UserError(
            "opbench op measures one operator; for several: "
            f"opbench run ops -a op={','.join(several)}"
        )
    entry = named(operator)
    axes = axes_for(entry, options.pop("axes", {}), names(framework))
    points: Any = table or ()  # what its kind has read
    shapes = rows_of(entry, points)
    given = dict.fromkeys((*axes, *(axis for row in shapes for axis in row)))
    check_known(operator_definition(entry), given)
    compared = [str(name) for name in axes.get("framework", [])]
    dtypes = [str(dtype) for dtype in axes.get("dtype", ())]
    check_dtypes(entry, compared or ["torch"], dtypes)
    if not (stage or "stage" in axes):
        stage, lacking = common_stage(entry, compared, dtypes)
        if lacking:
            print(f"forward only: {first_of(lacking)}: no backward pass", file=sys.stderr)
    stages = {"stages": [stage]} if stage else {}
    base = compared[0] if len(compared) > 1 else ""
    asked_for = {**options, "targets": ["ops"], "axes": axes, "shapes": shapes, **stages}
    code = answer(asked_for, "framework", float(margin), base=base)
    device = asked_for.get("device") or "cpu"
    for name in compared or ["torch"]:
        dtype = str(next(iter(axes.get("dtype", ())), entry.dtype_in(name)))
        for remark in remarks(entry, known.get(name), dtype, str(device)):
            print(f"{name}: {remark}")
    return code


def axes_for(
    entry: Operator, given: Mapping[str, Sequence[Any]], frameworks: Sequence[str]
) -> dict[str, list[Any]]:
    """The axes of a run of this operator. `-a framework=jax` is the same as `--framework jax`; what
    contradicts the operator or that option is a UserError."""
    from opbench.errors import UserError
    from opbench.suites.ops.catalogue import find

    axes = {axis: list(values) for axis, values in given.items()}
    for other in axes.pop("op", []):
        if find(str(other)) is not entry:
            raise UserError(
                f"two operators are given: {entry.name}, and -a op={other}; opbench op measures "
                f"one (for several: opbench run ops -a op={entry.name},{other})"
            )
    also = axes.setdefault("framework", list(frameworks))
    if frameworks and also != list(frameworks):
        raise UserError(
            f"framework is given twice: {','.join(frameworks)}, and {','.join(map(str, also))} "
            "as an axis"
        )
    if not also:
        del axes["framework"]
    return {"op": [entry.name], **axes}


def rows_of(entry: Operator, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of this operator, in a table that has a column for the name."""
    from opbench.errors import UserError
    from opbench.suites.ops.catalogue import named

    others = {str(row["op"]): named(str(row["op"])) for row in rows if "op" in row}
    found = [row for row in rows if "op" not in row or others[str(row["op"])] is entry]
    if rows and not found:
        raise UserError(f"no row of the shapes is of {entry.name}; they are of {', '.join(others)}")
    return found


def check_dtypes(entry: Operator, frameworks: Sequence[str], dtypes: Sequence[str]) -> None:
    """UserError for a dtype that the operator takes in none of the frameworks that have it: there
    would be nothing to show."""
    from opbench.errors import UserError

    calls = [call for call in map(entry.call, frameworks) if call]
    able = [dtype for call in calls for dtype in call.dtypes or entry.dtypes]
    for dtype in dtypes:
        if able and dtype not in able:
            raise UserError(
                f"{entry.name} does not take {dtype}; choose from: {', '.join(dict.fromkeys(able))}"
            )


def common_stage(
    entry: Operator, frameworks: Sequence[str], dtypes: Sequence[str] = ()
) -> tuple[str, list[str]]:
    """The stage to compare the frameworks at, and those that keep it from going back: forward in
    one and backward too in another are two things, which no table can compare. Empty where none of
    them has the operator."""
    from opbench import frameworks as known
    from opbench.suites.ops.definition import FORWARD, operator_definition

    definition = operator_definition(entry)
    stages = {
        (name, dtype): definition.default_stage(known.get(name), dtype)
        for name in frameworks
        if entry.call(name)
        for dtype in dtypes or [entry.dtype_in(name)]
    }
    if len(found := set(stages.values())) < 2:
        return next(iter(found), ""), []
    return FORWARD, list(
        dict.fromkeys(name for (name, _), stage in stages.items() if stage == FORWARD)
    )
