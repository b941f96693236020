"""Arithmetic that overwrites its first tensor.

It runs again and again on the same tensor, so the other one is chosen to leave it in its range:
sums grow slowly enough even for half floats, products and quotients are by -1 or 1. A remainder
would be done after the first call; there the tensor is restored, untimed, before each.
"""

from __future__ import annotations

from typing import Any

from opbench.define.program import NORMAL, POSITIVE, SIGNS, Domain, uniform
from opbench.suites.ops.entry import ALL, ANALYTIC, ANY, FLOATS, NUMBERS, Call, Operator
from opbench.suites.ops.shapes import binary, op

LITTLE = uniform(-1e-3, 1e-3)
ABSENT = {
    "jax": "JAX arrays cannot be overwritten",
    "onnxruntime": "an ONNX graph overwrites nothing",
}


def inplace(
    name: str, function: str, torch: str, sign: str, printed: str, other: Domain = NORMAL,
    this: Domain = NORMAL, aliases: tuple[str, ...] = (), restored: bool = False,
) -> Operator:  # fmt: skip
    def call(text: str, copied: str, restore: str, **more: Any) -> Call:
        before = (copied, restore) if restored else ("", "")
        return Call(text, setup=before[0], before=before[1], **more)

    return binary(
        name, "inplace", this, other, ("this", "other"), grad=False, absent=ABSENT,
        dtypes=FLOATS if restored else ANALYTIC,
        aliases=aliases, classic=f"I{name[1:].capitalize()}", printed=f"Inplace_{printed}",
        torch=call(f"y = this.{torch}(other)", "first = this.clone()", "this.copy_(first)",
            compilable=False),
        mxnet=call(f"this {sign}= other\ny = this", "first = this.copy()", "first.copyto(this)"),
        numpy=call(f"y = np.{function}(this, other, out=this)", "first = this.copy()",
            "np.copyto(this, first)"),
    )  # fmt: skip


def overwriting(
    name: str, torch: str, numpy: str = "", dtypes: tuple[str, ...] = FLOATS
) -> Operator:
    """A function of one tensor, written over it; it may be repeated as it is."""
    more: dict[str, Any] = {"numpy": f"y = {numpy}"} if numpy else {}
    return op(
        name, "inplace", ("data",), grad=False, absent=ABSENT, dtypes=dtypes,
        torch=Call(f"y = data.{torch}", compilable=False), **more,
    )  # fmt: skip


OPERATORS = (
    inplace("iadd", "add", "add_", "+", "Add", LITTLE, aliases=("InplaceAdd",)),
    inplace("isub", "subtract", "sub_", "-", "Subtract", LITTLE, aliases=("InplaceSubtract",)),
    inplace("imul", "multiply", "mul_", "*", "Multiply", SIGNS, aliases=("InplaceMultiply",)),
    inplace("idiv", "divide", "div_", "/", "Division", SIGNS, aliases=("InplaceDivide",)),
    inplace("imod", "mod", "remainder_", "%", "Modulo", POSITIVE, uniform(0.0, 8.0),
        aliases=("InplaceModulo",), restored=True),
    overwriting("relu_", "relu_()", "np.maximum(data, 0, out=data)", ANY),
    overwriting("neg_", "neg_()", "np.negative(data, out=data)", NUMBERS),
    overwriting("cos_", "cos_()", "np.cos(data, out=data)"),
    overwriting("sigmoid_", "sigmoid_()"),
    overwriting("zero_", "zero_()", "data\ndata.fill(0)", ALL),
    overwriting("fill_", "fill_(0.5)", "data\ndata.fill(0.5)"),
    overwriting("clamp_", "clamp_(-1.0, 1.0)", "np.clip(data, -1.0, 1.0, out=data)"),
    op("copy_", "inplace", ("data", "other"), grad=False, absent=ABSENT, dtypes=ALL,
        torch=Call("y = data.copy_(other)", compilable=False),
        mxnet="other.copyto(data)\ny = data", numpy="np.copyto(data, other)\ny = data"),
)  # fmt: skip
