"""Shapes by size class that many operators share, and the form in which entries are written.

`small` shows overhead, `typical` the size such an operator has in a model, `large` what no cache
holds, `skewed` one long and one short side, where loops over rows go wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from opbench.define.program import NORMAL, Domain
from opbench.suites.ops.entry import FRAMEWORKS, SIZES, Input, Operator, Values

#: The frameworks as keywords of an entry.
KEYWORDS = {"onnx": "onnxruntime", "compiled": "torch_compile"}
FIELDS = {each.name for each in fields(Operator)}


def sizes(*in_order: Any, **named: Any) -> dict[str, Any]:
    """A value for each size class: `small`, `typical`, `large`, `skewed`."""
    return {**dict(zip(SIZES, in_order)), **named}


PLANE = sizes((64, 64), (1024, 1024), (4096, 4096), (10000, 10))
COLUMN = {**PLANE, "skewed": (10000, 1)}
LINE = sizes((4096,), (1048576,), (16777216,))
#: Factorisations: a batch of square matrices.
SQUARES = sizes((4, 16, 16), (16, 128, 128), (8, 512, 512), (4096, 4, 4))
IMAGES = sizes((2, 3, 32, 32), (32, 3, 256, 256), (64, 3, 512, 512), (1, 3, 16, 16384))
SIGNALS = sizes((2, 3, 64), (32, 3, 256), (128, 3, 16384), (1, 3, 65536))


def op(
    name: str,
    category: str,
    inputs: str | tuple[str | Input, ...] = "data",
    shapes: Mapping[str, Any] = PLANE,
    *,
    grad: bool = True,
    **more: Any,
) -> Operator:
    """An entry. `inputs` are names, or an `Input` where there is more to say; `shapes` is one for
    each size class, that of every input without one of its own, or such by the name of a parameter.
    A keyword is a framework (its spelling), a field of `Operator`, or else an option of the
    operator and its value. `grad=False`: no framework has a gradient for it."""
    given = (inputs,) if isinstance(inputs, str) else inputs
    tensors = tuple(Input(each) if isinstance(each, str) else each for each in given)
    if not grad:
        tensors = tuple(replace(each, grad=False) for each in tensors)
        more = {"differentiable": False, **more}
    free = [each.name for each in tensors if each.shape is None]
    by_name = dict.fromkeys(free, shapes) if set(shapes) <= set(SIZES) else shapes
    spelling = {framework: more.pop(key) for key in (*FRAMEWORKS, *KEYWORDS) if key in more
                for framework in [KEYWORDS.get(key, key)]}  # fmt: skip
    options = {key: value for key, value in more.items() if key not in FIELDS}
    classes = dict.fromkeys(size for values in by_name.values() for size in values)
    return Operator(
        name,
        category,
        tensors,
        params={**{each: values["typical"] for each, values in by_name.items()}, **options},
        sizes={
            size: {each: values[size] for each, values in by_name.items() if size in values}
            for size in classes
            if size != "typical"
        },
        spelling=spelling,
        **{key: value for key, value in more.items() if key in FIELDS},
    )


def unary(
    name: str,
    category: str,
    domain: Domain = NORMAL,
    flops: float | Callable[[Values], float] | None = 1.0,
    **more: Any,
) -> Operator:
    """An operator on one tensor called `data`, element by element."""
    return op(name, category, (Input("data", domain),), flops=flops, **{"shapes": COLUMN, **more})


def binary(
    name: str,
    category: str,
    lhs: Domain = NORMAL,
    rhs: Domain = NORMAL,
    names: tuple[str, str] = ("lhs", "rhs"),
    **more: Any,
) -> Operator:
    """An operator on two tensors of the same shape, element by element."""
    return op(name, category, (Input(names[0], lhs), Input(names[1], rhs)), **more)
