"""Parameters that a person gives (`lhs=512x64`, `m=1`), on the command line, in a table of shapes,
in a run file or in Python: read, completed and checked here.

What is not given follows: an operator that names the sides of its inputs (`lhs` is m x k, `rhs` is
k x n) takes those of the given ones; inputs of one shape stay of one shape.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from opbench.case import Label
from opbench.define.definition import Axis
from opbench.define.program import LAYOUTS
from opbench.define.reading import shape
from opbench.errors import UserError, unknown
from opbench.suites.ops.entry import ALL, DType, Operator, Shape, Values, broadcast, numbers
from opbench.suites.ops.needs import unmet
from opbench.suites.ops.rules import check_counts, check_rules

#: Parameters that name a side of the first input.
AXES = ("axis", "dim", "dim1", "dim2")


def axes_of(operator: Operator) -> dict[str, Axis]:
    """An axis for each parameter and each named side: there when it is asked for."""
    found: dict[str, Axis] = {}
    for name, value in operator.params.items():
        text = text_of(value)
        choices = choices_of(value)
        # An option that is left out by default takes a word: an activation. So do several axes,
        # which not every operator takes: reading them says so.
        values = (text, "") if text is None or name == "axis" else (text,)
        found[name] = Axis(values, choices=choices, open=not choices, optional=True)
    sides = dict.fromkeys(side for text in operator.sides.values() for side in text.split())
    for side in sides:
        found.setdefault(side, Axis((1,), open=True, optional=True))
    if operator.inputs:
        found.setdefault("layout", Axis(("contiguous",), choices=LAYOUTS, optional=True))
    return found


def choices_of(value: Any) -> tuple[Label, ...]:
    """All that a parameter of this kind takes; empty where that is no list."""
    if isinstance(value, bool):
        return (True, False)
    return ALL if isinstance(value, DType) else ()


def text_of(value: Any) -> Label:
    """A parameter as a label: shapes as `512x512`."""
    if isinstance(value, (tuple, list)):
        return "x".join(str(each) for each in value) or "()"
    if isinstance(value, DType):
        return str(value)
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def read(operator: Operator, given: Mapping[str, Any]) -> dict[str, Any]:
    """The given values in the types of the parameters; a UserError names what would be right."""
    return {name: read_one(operator, name, value) for name, value in given.items()}


def read_one(operator: Operator, name: str, value: Any) -> Any:
    like = operator.params.get(name)
    if name == "layout":
        if value not in LAYOUTS:
            raise UserError(unknown("layout", str(value), LAYOUTS))
        return value
    if isinstance(like, tuple):
        return read_shape(operator, name, value, like)
    if name == "axis" and operator.several_axes:
        return read_axes(operator, value)
    if isinstance(like, DType) and value not in ALL:
        raise UserError(unknown(name, str(value), ALL))
    kind: type = int if name not in operator.params else type(like)
    if kind is bool and not isinstance(value, bool):
        raise UserError(f"{operator.name}: {name} is True or False, not {value!r}")
    if kind in (int, float):
        try:
            number = kind(value)
        except (TypeError, ValueError, OverflowError):
            number = None
        if number is not None and kind is float and not math.isfinite(number):
            number = None
        if number is None or isinstance(value, bool) or (kind is int and number != float(value)):
            what = "a whole number" if kind is int else "a finite number"
            raise UserError(f"{operator.name}: {name} takes {what}, not {value!r}")
        return number
    return value


def read_shape(operator: Operator, name: str, value: Any, like: Shape) -> Shape:
    if isinstance(value, str):
        # A shape that an operator makes may leave a side open, as -1.
        found = shape(value, left_open=name not in shapes_of_inputs(operator))
        value = value if found is None else found
    if isinstance(value, int) and not isinstance(value, bool):
        value = (value,)
    if isinstance(value, (tuple, list)):  # those of NumPy and torch are whole numbers too
        value = tuple(int(side) if is_whole(side) else side for side in value)
    whole = isinstance(value, (tuple, list)) and all(type(side) is int for side in value)
    if not whole or any(side < 0 for side in value if name in shapes_of_inputs(operator)):
        raise UserError(
            f"{operator.name}: {name} takes a shape such as {text_of(like)}, not {value!r}"
        )
    return tuple(value) if is_shape(operator, name) else for_each_side(operator, name, value, like)


def read_axes(operator: Operator, value: Any) -> int | Shape:
    """A single axis is a number, however it is written."""
    found = shape(value, left_open=True) if isinstance(value, str) else value
    given = found if isinstance(found, (tuple, list)) else (found,)
    if not given or not all(map(is_whole, given)):
        raise UserError(
            f"{operator.name}: axis takes whole numbers such as 1 or 0x2, not {value!r}"
        )
    return int(given[0]) if len(given) == 1 else tuple(map(int, given))


def is_whole(side: Any) -> bool:
    return hasattr(side, "__index__") and not isinstance(side, bool)


def is_shape(operator: Operator, name: str) -> bool:
    """Whether it is the shape of a tensor, rather than a number for each of some sides."""
    return name in operator.sizes.get("small", ()) or name in ("shape", *shapes_of_inputs(operator))


def for_each_side(operator: Operator, name: str, value: Sequence[int], like: Shape) -> Shape:
    """A kernel of 3 is one of 3x3 where images have two sides."""
    if len(value) == 1:
        return (value[0],) * len(like)
    if len(value) != len(like):
        raise UserError(
            f"{operator.name}: {name} takes {len(like)} numbers such as {text_of(like)}, "
            f"not {text_of(value)}"
        )
    return tuple(value)


def shapes_of_inputs(operator: Operator) -> list[str]:
    return [each.name for each in operator.inputs if each.shape is None]


def completed(operator: Operator, size: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters that differ from those of the size class, the given ones among them."""
    if not given:
        return {}
    defaults = vars(operator.values(size))
    found = {name: value for name, value in given.items() if name in defaults or name == "layout"}
    sides = {name: value for name, value in given.items() if name not in found}
    for name, text in operator.sides.items():
        shape, names = found.get(name), text.split()
        if shape is not None:
            values = shape if isinstance(shape, tuple) else (shape,)
            more = len(values) - len(names)
            joined = (prod(values[: more + 1]), *values[more + 1 :]) if more > 0 else values
            if len(joined) != len(names) or (more > 0 and not operator.any_rank):
                raise misfit(operator, name, shape, joined if more > 0 else defaults[name])
            values = joined
            for side, value in zip(names, values):
                if sides.setdefault(side, value) != value:
                    right = tuple(sides.get(each, v) for each, v in zip(names, values))
                    raise misfit(operator, name, shape, right)
    for name, text in operator.sides.items():
        if sides and name not in found:
            own = defaults[name] if isinstance(defaults[name], tuple) else (defaults[name],)
            values = tuple(sides.get(side, old) for side, old in zip(text.split(), own))
            found[name] = values if isinstance(defaults[name], tuple) else values[0]
    together = [name for name in shapes_of_inputs(operator) if name not in operator.sides]
    for name in together:
        leader = next((x for x in together if x in given and defaults[x] == defaults[name]), None)
        if name not in found and leader is not None:
            found[name] = found[leader]
    return found


def shapes_kept(operator: Operator, given: Mapping[str, Any]) -> set[str]:
    """The shapes that were given, or whose first side was given by its name."""
    shapes = {name for name, value in given.items() if isinstance(value, tuple)}
    return shapes | {name for name, text in operator.sides.items() if text.split()[0] in given}


def misfit(operator: Operator, name: str, shape: Any, right: Any) -> UserError:
    rule = ", ".join(f"{each} is {' x '.join(t.split())}" for each, t in operator.sides.items())
    return UserError(
        f"{operator.name}: {name}={text_of(shape)} does not fit: {rule}; "
        f"{name}={text_of(right)} would"
    )


def check(
    operator: Operator, size: str, values: Values, framework: str = "", backward: bool = False
) -> None:
    """UserError where parameters do not fit, with the rule and some that would: those of every
    framework, and those of the one named."""
    names = shapes_of_inputs(operator)
    defaults = operator.values(size)
    shapes = [tuple(getattr(values, name)) for name in names]
    same = len(names) > 1 and len({getattr(defaults, name) for name in names}) == 1
    if same and operator.result is None and broadcast(shapes) is None:
        given = ", ".join(f"{name}={text_of(shape)}" for name, shape in zip(names, shapes))
        raise UserError(
            f"{operator.name}: {given} do not broadcast: from the last side on, sides are equal or "
            f"1; {names[1]}={text_of(shapes[0])} would fit"
        )
    sides = [(len(shape), len(getattr(defaults, name))) for name, shape in zip(names, shapes)]
    free = operator.result is None or operator.any_rank
    check_axis(operator, values)
    check_counts(operator, values)
    try:
        if not free and any(found != usual for found, usual in sides):
            raise IndexError
        compute_all(operator, values)
        check_rules(operator, values)
        if broken := unmet(operator, size, values, framework, backward):
            raise UserError(f"{operator.name}: {broken}")
    except UserError:
        raise
    except ZeroDivisionError:
        none = [
            name
            for name, usual in operator.params.items()
            if name not in names and nonzero(usual) and not nonzero(getattr(values, name))
        ]
        raise UserError(f"{operator.name}: {' and '.join(none)} must not be 0") from None
    except (IndexError, TypeError, ValueError):
        # Where no parameter is the shape of an input, those that the shapes follow from.
        names = names or [
            name for name, usual in operator.params.items() if usual.__class__ is tuple
        ]
        shapes = [getattr(values, name) for name in names]
        given = ", ".join(f"{n}={text_of(s)}" for n, s in zip(names, shapes))
        like = ", ".join(f"{n}={text_of(getattr(defaults, n))}" for n in names)
        raise UserError(
            f"{operator.name} cannot take {given}; shapes of as many sides as {like} would fit"
        ) from None


def check_axis(operator: Operator, values: Values) -> None:
    """An axis is one of those that the first input has, counted from either end."""
    names = shapes_of_inputs(operator)
    if not names:
        return
    # `expand_dims` and `stack` make an axis: theirs is one of the result.
    shape = getattr(values, names[0])
    added = len(operator.result_shape(operator.values())) - len(operator.params[names[0]])
    sides = len(shape) + max(0, added)
    for name in AXES:
        axes = numbers(getattr(values, name, ()))
        once = len({axis % sides for axis in axes}) == len(axes) if sides else False
        if axes and not (once and all(-sides <= axis < sides for axis in axes)):
            those = f"axes are {-sides} to {sides - 1}, each once" if sides else "it has no axes"
            raise UserError(
                f"{operator.name}: {name}={text_of(axes)} does not fit "
                f"{names[0]}={text_of(shape)}: {those}"
            )


def compute_all(operator: Operator, values: Values) -> None:
    """Everything that follows from the parameters; whatever it raises, they do not fit."""
    for each in operator.inputs:
        each.shape_at(values)
        each.domain_at(values)
    operator.result_shape(values)
    if callable(operator.flops):
        operator.flops(values)
    for framework in operator.spelling:
        call = operator.call(framework)
        for part in (call.text, call.setup) if call else ():
            if callable(part):
                part(values)


def nonzero(value: Any) -> bool:
    return all(value) if isinstance(value, tuple) else bool(value)
