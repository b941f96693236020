"""Shapes by size class that many operators share, and the two commonest forms of an entry.

`small` shows overhead, `typical` the size such an operator has in a model, `large` what no cache
holds, `skewed` one long and one short side, where loops over rows go wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from opbench.define.program import NORMAL, Domain
from opbench.suites.ops.entry import Call, Input, Operator

PLANE = {"small": (64, 64), "typical": (1024, 1024), "large": (4096, 4096), "skewed": (10000, 10)}
COLUMN = {**PLANE, "skewed": (10000, 1)}
LINE = {"small": (4096,), "typical": (1048576,), "large": (16777216,)}
#: Factorisations: a batch of square matrices.
SQUARES = {
    "small": (4, 16, 16),
    "typical": (16, 128, 128),
    "large": (8, 512, 512),
    "skewed": (4096, 4, 4),
}
IMAGES = {
    "small": (2, 3, 32, 32),
    "typical": (32, 3, 256, 256),
    "large": (64, 3, 512, 512),
    "skewed": (1, 3, 16, 16384),
}
SIGNALS = {
    "small": (2, 3, 64),
    "typical": (32, 3, 256),
    "large": (128, 3, 16384),
    "skewed": (1, 3, 65536),
}


def shaped(by_name: Mapping[str, Mapping[str, Any]], **options: Any) -> dict[str, Any]:
    """`params` and `sizes` of an entry: each name with its value by size class, then options that
    stay the same."""
    classes = dict.fromkeys(size for values in by_name.values() for size in values)
    return {
        "params": {**{name: values["typical"] for name, values in by_name.items()}, **options},
        "sizes": {
            size: {name: values[size] for name, values in by_name.items() if size in values}
            for size in classes
            if size != "typical"
        },
    }


def spelled(**texts: str | Call) -> dict[str, str | Call]:
    """By framework; an empty text leaves the framework out."""
    return {framework: text for framework, text in texts.items() if text}


def unary(
    name: str,
    category: str,
    spelling: Mapping[str, str | Call],
    domain: Domain = NORMAL,
    flops: float = 1.0,
    **more: Any,
) -> Operator:
    """An operator on one tensor called `data`, element by element."""
    return Operator(
        name,
        category,
        (Input("data", domain),),
        spelling=spelling,
        flops=flops,
        **{**shaped({"data": COLUMN}), **more},
    )


def binary(
    name: str,
    category: str,
    spelling: Mapping[str, str | Call],
    lhs: Domain = NORMAL,
    rhs: Domain = NORMAL,
    names: tuple[str, str] = ("lhs", "rhs"),
    flops: float = 1.0,
    **more: Any,
) -> Operator:
    """An operator on two tensors of the same shape, element by element."""
    return Operator(
        name,
        category,
        (Input(names[0], lhs), Input(names[1], rhs)),
        spelling=spelling,
        flops=flops,
        **{**shaped(dict.fromkeys(names, PLANE)), **more},
    )


def without_gradient(operator: Operator) -> Operator:
    """The same operator without gradients for its inputs."""
    inputs = tuple(replace(each, grad=False) for each in operator.inputs)
    return replace(operator, inputs=inputs, differentiable=False)
