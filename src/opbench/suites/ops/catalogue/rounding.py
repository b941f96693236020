"""Rounding, element by element. Its gradient is zero everywhere, and still computed."""

from __future__ import annotations

from opbench.define.program import uniform
from opbench.suites.ops.entry import Operator
from opbench.suites.ops.shapes import unary

#: A few of a million values lie half way between two whole numbers, where frameworks differ.
SPREAD = uniform(-100.0, 100.0)


def rounding(name: str, torch: str, jax: str, onnx: str, numpy: str) -> Operator:
    functions = {
        "torch": f"torch.{torch}",
        "jax": f"jnp.{jax}",
        "onnxruntime": onnx,
        "mxnet": f"nd.{name}",
        "numpy": f"np.{numpy}",
    }
    spelling = {framework: f"{text}(data)" for framework, text in functions.items() if text}
    return unary(name, "rounding", spelling, SPREAD, parity="ties")


OPERATORS = (
    rounding("round", "round", "round", "Round", "round"),
    rounding("rint", "round", "rint", "Round", "rint"),
    rounding("fix", "fix", "trunc", "", "fix"),
    rounding("floor", "floor", "floor", "Floor", "floor"),
    rounding("ceil", "ceil", "ceil", "Ceil", "ceil"),
    rounding("trunc", "trunc", "trunc", "", "trunc"),
)
