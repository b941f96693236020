"""Definitions × axes → cases.

What `-a AXIS=V1,V2` means, on a mixture of definitions:

- a definition that has the axis takes the given values in place of its own;
- a closed axis (a dtype, a mode) takes only values it lists, so it also filters: a definition
  that knows none of the given values is left out;
- a definition without the axis keeps its own points (use `-k` to leave it out);
- `threads` and `device` exist on every definition, and set the case's fields as well;
  `stage` chooses stages;
- an axis that no definition has, or a value that none accepts, is an error.

A table of points (`--shapes`) gives several axes together: a row is one point, of the definitions
that have all of its axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opbench import frameworks
from opbench.case import STAGES, Case, Label, label_text
from opbench.define.definition import Axis, Context, Definition
from opbench.errors import UserError, nearest, unknown

#: A day of measuring at half a second each; their sources fit in a gigabyte.
MOST_CASES = 200_000

#: Axes that every definition has without saying so.
RESERVED = {"threads": Axis((1,), open=True), "device": Axis(("cpu",), open=True)}


def expand(
    definitions: Iterable[Definition],
    *,
    axes: Mapping[str, Sequence[Label]] | None = None,
    keep: Iterable[str] = (),
    stages: Iterable[str] = (),
    device: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    points: Sequence[Mapping[str, Label]] = (),
) -> list[Case]:
    """Every case of the definitions, in their order, with the given values on the given axes.

    Values may be text, as a command line has them. `keep` are substrings of which a case's id
    must contain one, capitals or not. `device` and `threads` set the case's fields, and its
    label only where the definition has such an axis. `points` are rows of values of axes.
    """
    definitions = list(definitions)
    if points:
        same: dict[str, Any] = {
            "stages": stages,
            "device": device,
            "threads": threads,
            "seed": seed,
        }
        rows = list(at_points(definitions, points, dict(axes or {}), same))
        check_unique(rows)
        return matching(rows, [text.lower() for text in keep if text])
    wanted = {axis: list(values) for axis, values in (axes or {}).items()}
    wanted_stages = check_stages([*stages, *map(str, wanted.pop("stage", []))], definitions)
    given = {"device": device, "threads": threads}
    fixed: dict[str, list[Label]] = {k: [v] for k, v in given.items() if v is not None}
    check_axes(wanted, definitions)
    for asked in (wanted, fixed):
        check_reserved(asked)

    cases: list[Case] = []
    rejected: dict[str, list[Axis]] = {}
    taken: set[str] = set()
    for definition in definitions:
        if wanted_stages and not set(wanted_stages) & set(definition.stages):
            continue
        grid = points_of(definition, wanted, fixed, rejected, taken)
        if grid is not None:
            check_number(definition, grid)
            for case in cases_of(definition, grid, fixed, wanted_stages, seed):
                cases.append(case)
                if len(cases) > MOST_CASES:
                    raise UserError(too_many(f"more than {MOST_CASES:,} cases"))
    for axis, axes_of_it in rejected.items():
        for value in wanted[axis]:
            if f"{axis}={value}" not in taken:
                raise UserError(value_message(axis, value, axes_of_it))
    if definitions and not cases:
        raise UserError("no benchmark has all of these axis values and stages")
    check_unique(cases)
    return matching(cases, [text.lower() for text in keep if text])


def check_number(definition: Definition, grid: Mapping[str, Sequence[Label]]) -> None:
    """Refuse, before the first case is made, a grid that no machine can measure."""
    number = math.prod(map(len, grid.values()))
    # A definition with points of its own may leave out most of the grid.
    if type(definition).points is Definition.points and number > MOST_CASES:
        shown = f"{number:,}" if number < 1e15 else f"about 1e{len(str(number)) - 1}"
        raise UserError(too_many(f"{definition.origin or definition.name}: {shown} points"))


def too_many(what: str) -> str:
    return f"{what}; at most {MOST_CASES:,} are measured in a run: give fewer values, or use -a"


def at_points(
    definitions: Sequence[Definition],
    points: Sequence[Mapping[str, Label]],
    axes: Mapping[str, Sequence[Label]],
    same: Mapping[str, Any],
) -> Iterable[Case]:
    rows = [(number, row) for number, row in different(points) if allowed(row, axes)]
    if not rows:
        raise UserError("no row of the shapes has the values that -a asks for")
    for number, row in rows:
        named = [axis for axis in row if axis not in (*RESERVED, "stage")]
        check_axes({axis: [row[axis]] for axis in named}, definitions, axes)
        able = [each for each in definitions if all(axis in each.axes for axis in named)]
        if not able:
            raise UserError(
                f"row {number} of the shapes: no benchmark has the axes {', '.join(named)} together"
            )
        try:
            yield from expand(able, axes={**axes, **{axis: [v] for axis, v in row.items()}}, **same)
        except UserError as error:
            raise UserError(f"row {number} of the shapes: {error}") from None


def different(points: Sequence[Mapping[str, Label]]) -> Iterable[tuple[int, Mapping[str, Label]]]:
    """The rows and their numbers, from 1; of equal ones the first."""
    first: dict[frozenset[tuple[str, str]], tuple[int, Mapping[str, Label]]] = {}
    for number, row in enumerate(points, 1):
        key = frozenset((axis, label_text(value)) for axis, value in row.items())
        first.setdefault(key, (number, row))
    return first.values()


def allowed(row: Mapping[str, Label], axes: Mapping[str, Sequence[Label]]) -> bool:
    """Whether the row has one of the values given on each axis that both have."""
    return all(
        label_text(value) in map(label_text, axes[axis])
        for axis, value in row.items()
        if axis in axes
    )


def points_of(
    definition: Definition,
    wanted: Mapping[str, Sequence[Label]],
    fixed: Mapping[str, Sequence[Label]],
    rejected: dict[str, list[Axis]],
    taken: set[str],
) -> dict[str, list[Label]] | None:
    """The values of each axis of a definition; None when one of them is left with none.

    Notes in `taken` which of the wanted values any axis accepted, and in `rejected` the
    axes that refused one.
    """
    axes = dict(definition.axes)
    for name in wanted:
        if name not in axes and name in RESERVED:
            axes[name] = RESERVED[name]
    grid: dict[str, list[Label]] = {}
    for name, axis in axes.items():
        given = wanted.get(name, fixed.get(name))
        if given is None:
            if not axis.optional:
                grid[name] = list(axis.values)
            continue
        grid[name] = []
        for value in given:
            accepted, parsed = parse(value, axis)
            if accepted:
                grid[name].append(parsed)
                taken.add(f"{name}={value}")
            elif name in wanted:
                rejected.setdefault(name, []).append(axis)
    return grid if all(grid.values()) else None


def cases_of(
    definition: Definition,
    grid: Mapping[str, list[Label]],
    fixed: Mapping[str, Sequence[Label]],
    stages: tuple[str, ...],
    seed: int,
) -> Iterable[Case]:
    for point in definition.points(grid):
        context = Context(
            framework=framework_of(definition, definition.framework_at(point)),
            device=str(point.get("device") or fixed.get("device", ["cpu"])[0]),
            threads=int(point.get("threads") or fixed.get("threads", [1])[0] or 1),
            seed=seed,
            stages=stages,
        )
        yield from definition.cases(point, context)


def framework_of(definition: Definition, name: Label) -> frameworks.Framework:
    name = name or definition.framework
    if not name:
        return frameworks.of(definition.modules)
    try:
        return frameworks.get(str(name))
    except UserError as error:
        raise UserError(f"{definition.origin or definition.name}: framework: {error}") from None


def parse(value: Label, axis: Axis) -> tuple[bool, Label]:
    """Whether the axis accepts the value, and the value in the type of the axis."""
    known = (*axis.valid, *axis.also)
    for valid in known:
        if value == valid and type(value) is type(valid):
            return True, valid
    text = value if isinstance(value, str) else label_text(value)
    for valid in known:
        if text == label_text(valid):
            return True, valid
    if not axis.open:
        return False, None
    types = {type(valid) for valid in axis.values}
    # An axis of whole numbers stays one; a mixed axis takes the narrowest type that fits.
    for kind in (int, float):
        if kind in types:
            try:
                return True, kind(text)
            except ValueError:
                continue
    return (True, text) if str in types else (False, None)


def check_axes(
    wanted: Mapping[str, Sequence[Label]],
    definitions: Sequence[Definition],
    also: Mapping[str, Sequence[Label]] | None = None,
) -> None:
    """`also` are further axes that choose among the definitions."""
    known = {name: None for definition in definitions for name in definition.axes}
    for axis, values in wanted.items():
        if axis not in known and axis not in RESERVED:
            chosen = [each for each in definitions if takes(each, {**(also or {}), **wanted})]
            near = {name: None for each in chosen or definitions for name in each.axes}
            raise UserError(unknown("axis", axis, dict.fromkeys((*near, *RESERVED, "stage"))))
        if not values:
            raise UserError(f"axis '{axis}' was given no value; write {axis}=V1,V2")


def takes(definition: Definition, wanted: Mapping[str, Sequence[Label]]) -> bool:
    """Whether it accepts a value on each of the axes that it has."""
    return all(
        any(parse(value, definition.axes[axis])[0] for value in values)
        for axis, values in wanted.items()
        if axis in definition.axes
    )


def check_reserved(asked: Mapping[str, Sequence[Label]]) -> None:
    devices = dict.fromkeys(d for name in frameworks.names() for d in frameworks.get(name).devices)
    for value in asked.get("device", ()):
        kind, colon, index = str(value).partition(":")
        if kind.lower() == "gpu":
            raise UserError(f"unknown device '{value}'; did you mean cuda{colon}{index}?")
        if kind not in devices:
            raise UserError(unknown("device", str(value), devices))
        if colon and not index.isdecimal():
            raise UserError(f"a device is written {kind} or {kind}:0, not '{value}'")
    for value in asked.get("threads", ()):
        if not str(value).isdecimal() or int(str(value)) < 1:
            raise UserError(f"threads must be a whole number from 1 up, not '{value}'")


def check_stages(stages: Sequence[str], definitions: Sequence[Definition]) -> tuple[str, ...]:
    here = dict.fromkeys(stage for definition in definitions for stage in definition.stages)
    for stage in stages:
        if stage in here:
            continue
        if stage in STAGES:
            choices = ", ".join(here)
            raise UserError(f"no benchmark here has stage '{stage}'; choose from: {choices}")
        raise UserError(unknown("stage", stage, here))
    return tuple(stages)


def check_unique(cases: Sequence[Case]) -> None:
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise UserError(
                f"two cases have the id {case.id}; rename one benchmark, or give a value once"
            )
        seen.add(case.id)


def matching(cases: list[Case], keep: Sequence[str]) -> list[Case]:
    if not keep:
        return cases
    kept = [case for case in cases if any(text in case.id.lower() for text in keep)]
    if not kept and cases:
        names = dict.fromkeys(part for case in cases for part in (case.name, case.stage))
        asked = " or ".join(f"'{text}'" for text in keep)
        hint = nearest(keep[0], names) or f"; an id looks like {cases[0].id}"
        raise UserError(f"no case id contains {asked}{hint}")
    return kept


def value_message(axis: str, value: Label, refusing: Sequence[Axis]) -> str:
    if any(a.open for a in refusing):
        kind = "whole number" if all(isinstance(v, int) for v in refusing[0].values) else "number"
        return f"axis '{axis}' takes a {kind}, not '{value}'"
    valid = dict.fromkeys(label_text(v) for a in refusing for v in a.valid)
    return unknown(axis, str(value), valid)
