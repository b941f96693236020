"""Comparisons, element by element. Half of all pairs compare true either way: no branch predictor
can learn them."""

from __future__ import annotations

from dataclasses import replace

from opbench.define.program import integers
from opbench.suites.ops.entry import ANY, Operator
from opbench.suites.ops.shapes import binary, without_gradient

#: Equality of random floats is always false; of small whole numbers it is so now and then.
FEW = integers(0, 4)


def comparison(
    name: str, torch: str, jax: str, onnx: str, mxnet: str, numpy: str, classic: str, printed: str
) -> Operator:
    spelling = {
        "torch": f"torch.{torch}(lhs, rhs)",
        "jax": f"jnp.{jax}(lhs, rhs)",
        "onnxruntime": f"{onnx}(lhs, rhs)" if onnx else "e = Equal(lhs, rhs)\ny = Not(e)",
        "mxnet": f"nd.{mxnet}(lhs, rhs)",
        "numpy": f"np.{numpy}(lhs, rhs)",
    }
    operator = binary(
        name,
        "comparison",
        spelling,
        FEW,
        FEW,
        aliases=(f"broadcast_{name}",),
        dtypes=ANY,
        classic=classic,
        printed=printed,
    )
    return replace(without_gradient(operator), result_dtype="bool")


OPERATORS = (
    comparison("lesser", "lt", "less", "Less", "lesser", "less", "Lesser", "Lesser"),
    comparison(
        "lesser_equal", "le", "less_equal", "LessOrEqual", "lesser_equal", "less_equal",
        "LesserEqual", "Lesser_Equal",
    ),
    comparison("greater", "gt", "greater", "Greater", "greater", "greater", "Greater", "Greater"),
    comparison(
        "greater_equal", "ge", "greater_equal", "GreaterOrEqual", "greater_equal",
        "greater_equal", "GreaterEqual", "Greater_Equal",
    ),
    comparison("equal", "eq", "equal", "Equal", "equal", "equal", "Equal", "Equal"),
    # ONNX has no operator for it: the two it takes make one graph.
    comparison(
        "not_equal", "ne", "not_equal", "", "not_equal", "not_equal", "NotEqual", "Not_Equal"
    ),
)  # fmt: skip
