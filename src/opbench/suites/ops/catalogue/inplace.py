"""Arithmetic that overwrites its first tensor.

It runs again and again on the same tensor, so the other one is chosen to leave it in its range:
sums grow slowly enough, products and quotients are by -1 or 1. A remainder would be done after the
first call; there the tensor is restored, untimed, before each.
"""

from __future__ import annotations

from opbench.define.program import NORMAL, POSITIVE, SIGNS, Domain, uniform
from opbench.suites.ops.entry import Call, Operator
from opbench.suites.ops.shapes import binary, without_gradient

NO_JAX = "JAX arrays cannot be overwritten"
NO_ONNX = "an ONNX graph overwrites nothing"


def inplace(
    name: str,
    function: str,
    torch: str,
    sign: str,
    printed: str,
    other: Domain = NORMAL,
    this: Domain = NORMAL,
    aliases: tuple[str, ...] = (),
    restored: bool = False,
) -> Operator:
    spelling = {
        "torch": Call(
            f"y = this.{torch}(other)",
            setup="first = this.clone()" if restored else "",
            before="this.copy_(first)" if restored else "",
            compilable=False,
        ),
        "mxnet": Call(
            f"this {sign}= other\ny = this",
            setup="first = this.copy()" if restored else "",
            before="first.copyto(this)" if restored else "",
        ),
        "numpy": Call(
            f"y = np.{function}(this, other, out=this)",
            setup="first = this.copy()" if restored else "",
            before="np.copyto(this, first)" if restored else "",
        ),
    }
    return without_gradient(
        binary(
            name,
            "inplace",
            spelling,
            this,
            other,
            ("this", "other"),
            aliases=aliases,
            absent={"jax": NO_JAX, "onnxruntime": NO_ONNX},
            classic=f"I{name[1:].capitalize()}",
            printed=f"Inplace_{printed}",
        )
    )


OPERATORS = (
    inplace("iadd", "add", "add_", "+", "Add", aliases=("InplaceAdd",)),
    inplace("isub", "subtract", "sub_", "-", "Subtract", aliases=("InplaceSubtract",)),
    inplace("imul", "multiply", "mul_", "*", "Multiply", SIGNS, aliases=("InplaceMultiply",)),
    inplace("idiv", "divide", "div_", "/", "Division", SIGNS, aliases=("InplaceDivide",)),
    inplace(
        "imod", "mod", "remainder_", "%", "Modulo", POSITIVE, uniform(0.0, 8.0),
        aliases=("InplaceModulo",), restored=True,
    ),
)  # fmt: skip
