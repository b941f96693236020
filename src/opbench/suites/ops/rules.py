"""What parameters must be to each other, beyond their types: a kernel within its image, heads that
divide a width. Most rules go by the names of parameters, so that a new entry has them for nothing.

A rule gives what is wrong and what would fit, as the end of a message; empty where nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from opbench.define.program import LAYOUT_SIDES
from opbench.errors import UserError, plural
from opbench.suites.ops.entry import Operator, Shape, Values, broadcast, numbers

Rule = Callable[[Operator, Values], str]

#: The least value of parameters that count something. None of nothing is a tensor without elements,
#: which a count from 0 allows.
LEAST = {
    **dict.fromkeys(
        ("channels", "kernel_size", "kernel", "pool_size", "pooled_size", "strides", "block_size",
         "heads", "num_groups", "num_outputs", "scale", "nsize", "groups", "hidden_size",
         "input_dim", "bins", "depth", "target_shape"), 1),
    **dict.fromkeys(
        ("count", "k", "units", "output_dim", "rois", "rows", "length", "label_length", "repeats",
         "reps", "padding", "pad", "max_displacement"), 0),
}  # fmt: skip
#: Domains of square matrices, and operators that need such of any values.
SQUARE_DOMAINS = ("spd", "lower")
SQUARE = ("linalg_gemm", "linalg_gemm2", "linalg_extracttrian")
#: Operators that pick one of the numbers along an axis.
EXTREMES = ("max", "min", "max_dim", "min_dim", "aminmax", "argmax", "argmin", "median")
#: Words that a block of Gluon takes.
ACTIVATIONS = ("relu", "sigmoid", "tanh", "softrelu", "softsign")
RECURRENT = ("relu", "tanh")


def check_counts(operator: Operator, values: Values) -> None:
    """UserError for a number of nothing: shapes cannot be computed from it."""
    broken = counts(operator, values) or parts(operator, values)
    if broken:
        raise UserError(f"{operator.name}: {broken}")


def check_rules(operator: Operator, values: Values) -> None:
    """UserError for the first rule that the values break."""
    for rule in RULES:
        broken = rule(operator, values)
        if broken:
            raise UserError(f"{operator.name}: {broken}")


def counts(operator: Operator, v: Values) -> str:
    for name in options(operator):
        least, value = LEAST.get(name), getattr(v, name)
        # A parameter of the same name may be something else: the `k` of LRN is a factor.
        each = numbers(value)
        whole = least is not None and all(type(number) is int for number in each)
        if whole and least is not None and any(number < least for number in each):
            return f"{name}={written(value)} does not fit: {name} is at least {least}"
    return ""


def parts(operator: Operator, v: Values) -> str:
    if not {"num_outputs", "axis", "data"} <= set(operator.params):
        return ""
    if v.num_outputs <= v.data[v.axis]:
        return ""
    return (
        f"num_outputs={v.num_outputs} does not fit data={written(v.data)}: it is at most the side "
        f"of axis {v.axis}, {v.data[v.axis]}"
    )


def layouts(operator: Operator, v: Values) -> str:
    layout = getattr(v, "layout", "")
    able = LAYOUT_SIDES.get(layout)
    ranks = [len(each.shape_at(v)) for each in operator.inputs]
    if able is None or any(rank in able for rank in ranks):
        return ""
    sides = plural(able[0], "side") + (" or more" if len(able) > 1 else "")
    most = plural(max(ranks, default=0), "side")
    return f"layout={layout} needs a tensor of {sides}; its inputs have at most {most}"


def kernels(operator: Operator, v: Values) -> str:
    """A window lies within the image and its padding; transposed, it makes the image larger."""
    image = "image" if "image" in operator.params else "data"
    given = options(operator)
    name = next((name for name in ("kernel_size", "kernel", "pool_size") if name in given), "")
    if not name or image not in operator.params or "Transpose" in operator.name:
        return ""
    sides = getattr(v, image)[2:]
    padding = for_each(getattr(v, "padding", getattr(v, "pad", 0)), len(sides))
    room = tuple(side + 2 * pad for side, pad in zip(sides, padding))
    kernel = for_each(getattr(v, name), len(sides))
    if all(size <= most for size, most in zip(kernel, room)):
        return ""
    where = f"{image}={written(getattr(v, image))}"
    added = " with its padding" if any(padding) else ""
    return (
        f"{name}={written(getattr(v, name))} does not fit {where}: it is at most as large as the "
        f"image{added}, {written(room)}"
    )


def groups(operator: Operator, v: Values) -> str:
    """Numbers of equal parts of a side."""
    for name, side, what in (("num_groups", 1, "channels"), ("heads", -1, "width")):
        if name in operator.params and "data" in operator.params:
            wrong = divided(v, name, v.data[side], what)
            if wrong:
                return wrong
    return ""


def divided(v: Values, name: str, side: int, what: str) -> str:
    number = getattr(v, name)
    if side % number == 0:
        return ""
    fits = max(n for n in range(1, number) if side % n == 0)
    return (
        f"{name}={number} does not fit data={written(v.data)}: {name} divides the {what}, {side}; "
        f"{name}={fits} would"
    )


def blocks(operator: Operator, v: Values) -> str:
    if "block_size" not in operator.params:
        return ""
    size, data = v.block_size, written(v.data)
    if operator.name in ("depth_to_space", "pixel_shuffle"):
        if v.data[1] % size**2:
            right = max(size**2, v.data[1] // size**2 * size**2)
            fits = written((v.data[0], right, *v.data[2:]))
            return (
                f"block_size={size} does not fit data={data}: its square divides the channels, "
                f"{v.data[1]}; data={fits} would"
            )
    elif any(side % size for side in v.data[2:]):
        right = (max(size, side // size * size) for side in v.data[2:])
        return (
            f"block_size={size} does not fit data={data}: it divides height and width; "
            f"data={written((*v.data[:2], *right))} would"
        )
    return ""


def largest(operator: Operator, v: Values) -> str:
    if not {"k", "axis", "data"} <= set(operator.params) or v.k <= v.data[v.axis]:
        return ""
    return (
        f"k={v.k} does not fit data={written(v.data)}: k is at most the side of axis {v.axis}, "
        f"{v.data[v.axis]}"
    )


def extremes(operator: Operator, v: Values) -> str:
    """There is no largest of no numbers."""
    if operator.name not in EXTREMES or all(v.data[axis] for axis in numbers(v.axis)):
        return ""
    return (
        f"data={written(v.data)}, axis={written(v.axis)} do not fit: no number can be picked from "
        "none"
    )


def ranges(operator: Operator, v: Values) -> str:
    """From `begin` to `end` there is something, all of it within the tensor."""
    if not {"begin", "end", "data"} <= set(operator.params):
        return ""
    several = isinstance(v.begin, tuple)
    sides = v.data if several else (v.data[v.axis],)
    begins, ends = (for_each(getattr(v, name), len(sides)) for name in ("begin", "end"))
    if all(0 <= begin < end <= side for begin, end, side in zip(begins, ends, sides)):
        return ""
    where = written(sides) if several else f"{sides[0]}, the side of axis {v.axis}"
    return (
        f"begin={written(v.begin)}, end={written(v.end)} do not fit data={written(v.data)}: "
        f"0 <= begin < end <= {where}"
    )


def squares(operator: Operator, v: Values) -> str:
    kinds = [each.domain_at(v).kind for each in operator.inputs if each.name == "data"]
    if operator.name not in SQUARE and not set(kinds) & set(SQUARE_DOMAINS):
        return ""
    if len(v.data) < 2 or v.data[-1] == v.data[-2]:
        return ""
    right = written((*v.data[:-1], v.data[-2]))
    return (
        f"data={written(v.data)} does not fit: matrices are square, their last two sides equal; "
        f"data={right} would"
    )


def joined(operator: Operator, v: Values) -> str:
    """Tensors that are put together are equal but for the side along which they are."""
    along = {"concat": getattr(v, "dim", None), "stack": None}
    if operator.name not in along:
        return ""
    axis = along[operator.name]
    for each in operator.inputs[1:]:
        shape = getattr(v, each.name)
        right = list(v.a)
        if axis is not None:
            right[axis] = shape[axis]
        if shape != tuple(right):
            but = "" if axis is None else f" but for side {axis}"
            return (
                f"a={written(v.a)}, {each.name}={written(shape)} do not fit: all sides are equal"
                f"{but}; {each.name}={written(right)} would"
            )
    return ""


def reshaped(operator: Operator, v: Values) -> str:
    """As many elements as before; one side may be left open, as -1."""
    if -1 not in sequence(operator.params.get("shape")):
        return ""
    elements, known = prod(v.data), prod(side for side in v.shape if side != -1)
    left_open = v.shape.count(-1)
    fits = known and elements % known == 0 if left_open else elements == known
    if min(v.shape, default=0) >= -1 and left_open < 2 and fits:
        return ""
    return (
        f"shape={written(v.shape)} does not fit data={written(v.data)}: the number of elements "
        f"stays {elements}; shape={elements} would"
    )


def expanded(operator: Operator, v: Values) -> str:
    """What is broadcast has the sides of its target, or 1."""
    targets = {"broadcast_to": "shape", "broadcast_like": "other"}
    if operator.name in targets:
        name = targets[operator.name]
        target = getattr(v, name)
        if broadcast((v.data, target)) == tuple(target):
            return ""
        return (
            f"data={written(v.data)} does not broadcast to {name}={written(target)}: from the last "
            f"side on, sides are equal or 1; data={written((1, *target[1:]))} would"
        )
    if operator.name == "broadcast_axis" and v.data[1] not in (1, v.length):
        return (
            f"data={written(v.data)} does not broadcast to length={v.length}: side 1 is 1; "
            f"data={written((v.data[0], 1))} would"
        )
    if operator.category == "inplace" and len(operator.inputs) > 1:
        target, *others = (each.shape_at(v) for each in operator.inputs)
        if broadcast((target, *others)) != target:
            first, second = operator.inputs[:2]
            return (
                f"{second.name}={written(others[0])} does not fit {first.name}={written(target)}: "
                f"a result in place has the shape of {first.name}; "
                f"{second.name}={written(target)} would"
            )
    return ""


def points(operator: Operator, v: Values) -> str:
    """Positions in a grid are columns with a row for each of its sides."""
    grid = {"gather_nd": "data", "scatter_nd": "shape"}.get(operator.name, "")
    if not grid or v.indices[0] == len(getattr(v, grid)):
        return ""
    right = written((len(getattr(v, grid)), *v.indices[1:]))
    return (
        f"indices={written(v.indices)} does not fit {grid}={written(getattr(v, grid))}: it has a "
        f"row for each side; indices={right} would"
    )


def pictures(operator: Operator, v: Values) -> str:
    if "scale" not in operator.params or all(v.data[2:]):
        return ""
    right = written((*v.data[:2], *(max(1, side) for side in v.data[2:])))
    return (
        f"data={written(v.data)} does not fit: an image without pixels cannot be enlarged; "
        f"data={right} would"
    )


def halves(operator: Operator, v: Values) -> str:
    if operator.name != "glu" or v.data[-1] % 2 == 0:
        return ""
    right = written((*v.data[:-1], v.data[-1] + 1))
    return f"data={written(v.data)} does not fit: its last side is even; data={right} would"


def activations(operator: Operator, v: Values) -> str:
    if "activation" not in operator.params:
        return ""
    words = RECURRENT if "RNN" in operator.name else ACTIVATIONS
    # One that is left out by default may be left out.
    if v.activation in words or v.activation == operator.params["activation"]:
        return ""
    return f"unknown activation '{v.activation}'; choose from: {', '.join(words)}"


def positions(operator: Operator, v: Values) -> str:
    """Whole numbers are drawn from a range that has some."""
    for each in operator.inputs:
        domain = each.domain_at(v)
        if domain.kind == "integers" and domain.low >= domain.high:
            return (
                f"{each.name} holds positions from {domain.low:g} up to {domain.high:g}, of which "
                "there are none: the side they point into is too short"
            )
    return ""


def results(operator: Operator, v: Values) -> str:
    """What nothing above has named: no tensor has a side below 0."""
    shapes = {"the result": operator.result_shape(v)}
    shapes |= {each.name: each.shape_at(v) for each in operator.inputs}
    for name, shape in shapes.items():
        if any(side < 0 for side in shape):
            return f"{name} would have the shape {written(shape)}: no side is below 0"
    return ""


RULES: tuple[Rule, ...] = (
    layouts, kernels, groups, blocks, largest, extremes, ranges, squares, joined, reshaped,
    expanded, points, pictures, halves, activations, positions, results,
)  # fmt: skip


def options(operator: Operator) -> list[str]:
    """Parameters that are no tensor's shape."""
    tensors = {each.name for each in operator.inputs}
    return [name for name in operator.params if name not in tensors]


def for_each(value: Any, sides: int) -> Shape:
    """A number is that of every side."""
    return value if isinstance(value, tuple) else (value,) * sides


def sequence(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else ()


def written(value: int | Iterable[int]) -> str:
    """`3x3`, as shapes are given."""
    return str(value) if isinstance(value, int) else "x".join(map(str, value)) or "()"
