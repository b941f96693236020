"""Comparisons, element by element. Half of all pairs compare true either way: no branch predictor
can learn them. Equality of random floats is always false; of small whole numbers it is so now and
then."""

from __future__ import annotations

from typing import Any

from opbench.define.program import Domain
from opbench.suites.ops.entry import ANY, NUMBERS, Call, Operator
from opbench.suites.ops.families import family
from opbench.suites.ops.shapes import binary

TABLE = """
lesser        lt  less           Less            =  less           0:4
lesser_equal  le  less_equal     LessOrEqual     =  less_equal     0:4
greater       gt  =              Greater         =  =              0:4
greater_equal ge  =              GreaterOrEqual  =  =              0:4
equal         eq  =              Equal           =  =              0:4
not_equal     ne  =              -               =  =              0:4
"""
#: ONNX has no operator for it: the two it takes make one graph.
MORE: dict[str, dict[str, Any]] = {
    "equal": {"dtypes": NUMBERS},
    "not_equal": {
        "dtypes": NUMBERS,
        "onnx": Call("e = Equal(lhs, rhs)\ny = Not(e)", emulated=True),
    },
}


def comparison(name: str, domain: Domain, **more: Any) -> Operator:
    printed = name.title()
    return binary(
        name, "comparison", domain, domain, grad=False, result_dtype="bool",
        aliases=(f"broadcast_{name}",), classic=printed.replace("_", ""), printed=printed,
        **{"dtypes": ANY, **more},
    )  # fmt: skip


OPERATORS = tuple(family(TABLE, "lhs, rhs", comparison, MORE))
