"""Arithmetic on two tensors, element by element."""

from __future__ import annotations

from opbench.define.program import NORMAL, POSITIVE, uniform
from opbench.suites.ops.entry import ANY, Input, Operator
from opbench.suites.ops.shapes import PLANE, binary, shaped


def two(torch: str, jax: str, onnx: str, mxnet: str, numpy: str) -> dict[str, str]:
    functions = {
        "torch": torch,
        "jax": f"jnp.{jax}",
        "onnxruntime": onnx,
        "mxnet": f"nd.{mxnet}",
        "numpy": f"np.{numpy}",
    }
    return {framework: f"{text}(lhs, rhs)" for framework, text in functions.items() if text}


OPERATORS = (
    binary(
        "add", "binary", two("torch.add", "add", "Add", "add", "add"),
        dtypes=ANY, aliases=("broadcast_add", "elemwise_add"),
    ),
    binary(
        "mul", "binary", two("torch.mul", "multiply", "Mul", "multiply", "multiply"),
        dtypes=ANY, aliases=("broadcast_mul", "elemwise_mul"), classic="Multiply",
    ),
    binary(
        "sub", "binary", two("torch.sub", "subtract", "Sub", "subtract", "subtract"),
        dtypes=ANY, aliases=("broadcast_sub", "elemwise_sub"), classic="Subtract",
    ),
    binary(
        "div", "binary", two("torch.div", "divide", "Div", "divide", "divide"), rhs=POSITIVE,
        aliases=("broadcast_div", "elemwise_div"), classic="Divide",
    ),
    # Of two positive numbers the remainder of Python and that of C are the same; ONNX has, for
    # floats, that of C.
    binary(
        "mod", "binary",
        {
            **two("torch.remainder", "mod", "", "modulo", "mod"),
            "onnxruntime": "Mod(lhs, rhs, fmod=1)",
        },
        lhs=uniform(0.0, 8.0), rhs=POSITIVE, aliases=("broadcast_mod",), classic="Modulo",
        parity="ties",  # a quotient that is all but whole falls on either side
    ),
    Operator(
        "power",
        "binary",
        (Input("base", POSITIVE), Input("exp", uniform(-2.0, 2.0))),
        **shaped({"base": PLANE, "exp": PLANE}),
        spelling={
            "torch": "torch.pow(base, exp)",
            "onnxruntime": "Pow(base, exp)",
            "mxnet": "nd.power(base, exp)",
            "numpy": "np.power(base, exp)",
        },
        flops=30.0,
        aliases=("broadcast_power", "pow"),
    ),
    binary(
        "hypot", "binary", two("torch.hypot", "hypot", "", "broadcast_hypot", "hypot"),
        lhs=POSITIVE, rhs=POSITIVE, flops=4.0, aliases=("broadcast_hypot",),
    ),
    binary(
        "maximum", "binary", two("torch.maximum", "maximum", "Max", "maximum", "maximum"),
        dtypes=ANY, aliases=("broadcast_maximum",),
    ),
    binary(
        "minimum", "binary", two("torch.minimum", "minimum", "Min", "minimum", "minimum"),
        dtypes=ANY, aliases=("broadcast_minimum",),
    ),
    Operator(
        "add_n",
        "binary",
        tuple(Input(name, NORMAL) for name in "abcd"),
        **shaped(dict.fromkeys("abcd", PLANE)),
        spelling={
            "torch": "a + b + c + d",
            "onnxruntime": "Sum(a, b, c, d)",
            "mxnet": "nd.add_n(a, b, c, d)",
            "numpy": "a + b + c + d",
        },
        flops=3.0,
        dtypes=ANY,
    ),
    binary(
        "arctan2", "binary",
        {
            "torch": "torch.atan2(lhs, rhs)",
            "numpy": "np.arctan2(lhs, rhs)",
        },
        rhs=POSITIVE, flops=20.0, aliases=("atan2",),
    ),
)  # fmt: skip
