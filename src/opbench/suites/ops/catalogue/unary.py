"""Functions of one tensor, element by element."""

from __future__ import annotations

from dataclasses import replace

from opbench.define.program import NORMAL, POSITIVE, Domain, uniform
from opbench.suites.ops.entry import DType, Operator
from opbench.suites.ops.shapes import COLUMN, shaped, unary, without_gradient

#: Where the inverse functions are steep but finite.
INSIDE = uniform(-0.9, 0.9)
#: Away from the poles of the tangent.
GENTLE = uniform(-1.0, 1.0)


def named(
    name: str,
    torch: str = "",
    jax: str = "",
    onnx: str = "",
    numpy: str = "",
    domain: Domain = NORMAL,
    mxnet: str | None = None,
    flops: float = 1.0,
    **more: object,
) -> Operator:
    """An entry whose frameworks differ by the name of the function alone."""
    functions = {
        "torch": torch,
        "jax": jax,
        "onnxruntime": onnx,
        "mxnet": f"nd.{name}" if mxnet is None else mxnet,
        "numpy": numpy,
    }
    spelling = {framework: f"{text}(data)" for framework, text in functions.items() if text}
    return unary(name, "unary", spelling, domain, flops, **more)


#: A transcendental function is some ten to twenty multiplications and additions.
SERIES = 15.0

OPERATORS = (
    named("abs", "torch.abs", "jnp.abs", "Abs", "np.abs"),
    named("arccos", "torch.acos", "jnp.arccos", "Acos", "np.arccos", INSIDE, flops=SERIES),
    named(
        "arccosh", "torch.acosh", "jnp.arccosh", "Acosh", "np.arccosh", uniform(1.1, 3.0),
        flops=SERIES,
    ),
    named("arcsin", "torch.asin", "jnp.arcsin", "Asin", "np.arcsin", INSIDE, flops=SERIES),
    named("arcsinh", "torch.asinh", "jnp.arcsinh", "Asinh", "np.arcsinh", flops=SERIES),
    named("arctan", "torch.atan", "jnp.arctan", "Atan", "np.arctan", flops=SERIES),
    named("arctanh", "torch.atanh", "jnp.arctanh", "Atanh", "np.arctanh", INSIDE, flops=SERIES),
    replace(
        without_gradient(
            unary(
                "argmax_channel",
                "unary",
                {
                    "torch": "torch.argmax(data, 1)",
                    "onnxruntime": "ArgMax(data, axis=1, keepdims=0)",
                    "mxnet": "nd.argmax_channel(data)",
                    "numpy": "np.argmax(data, axis=1)",
                },
            )
        ),
        result=lambda v: v.data[:1],
        result_dtype="int64",
        parity="ties",
        flops=lambda v: v.data[0] * v.data[1],
    ),
    unary(
        "cast",
        "unary",
        {
            "torch": "data.to({to})",
            "onnxruntime": "Cast(data, to={to})",
            "mxnet": "nd.cast(data, dtype={to})",
            "numpy": "data.astype({to})",
        },
        **shaped({"data": COLUMN}, to=DType("float16")),
        result_dtype="float16",
    ),
    unary(
        "amp_cast",
        "unary",
        {
            "torch": "data.to({to})",
            "onnxruntime": "Cast(data, to={to})",
            "mxnet": "nd.amp_cast(data, dtype={to})",
            "numpy": "data.astype({to})",
        },
        **shaped({"data": COLUMN}, to=DType("float16")),
        result_dtype="float16",
    ),
    named("cbrt", "", "jnp.cbrt", "", "np.cbrt", POSITIVE, flops=SERIES),
    named("rcbrt", domain=POSITIVE, flops=SERIES),
    named("cos", "torch.cos", "jnp.cos", "Cos", "np.cos", flops=SERIES),
    named("cosh", "torch.cosh", "jnp.cosh", "Cosh", "np.cosh", flops=SERIES),
    named("degrees", "torch.rad2deg", "jnp.degrees", "", "np.degrees"),
    named("radians", "torch.deg2rad", "jnp.radians", "", "np.radians"),
    named("erf", "torch.erf", "lax.erf", "Erf", flops=SERIES),
    named("erfinv", "torch.erfinv", "lax.erf_inv", domain=INSIDE, flops=SERIES, tolerance=4.0),
    named("exp", "torch.exp", "jnp.exp", "Exp", "np.exp", flops=SERIES),
    named("expm1", "torch.expm1", "jnp.expm1", "", "np.expm1", flops=SERIES),
    # It overflows early, and is rarely asked for: torch has its logarithm only.
    named("gamma", "", "jax.scipy.special.gamma", domain=POSITIVE, flops=2 * SERIES),
    named(
        "gammaln", "torch.lgamma", "jax.scipy.special.gammaln", domain=uniform(2.5, 8.0),
        flops=2 * SERIES, tolerance=4.0,
    ),
    named("identity", "torch.clone", "jnp.copy", "Identity", "np.copy", flops=0.0),
    named("log", "torch.log", "jnp.log", "Log", "np.log", POSITIVE, flops=SERIES),
    named("log10", "torch.log10", "jnp.log10", "", "np.log10", POSITIVE, flops=SERIES),
    named("log1p", "torch.log1p", "jnp.log1p", "", "np.log1p", POSITIVE, flops=SERIES),
    named("log2", "torch.log2", "jnp.log2", "", "np.log2", POSITIVE, flops=SERIES),
    named("negative", "torch.neg", "jnp.negative", "Neg", "np.negative", aliases=("neg",)),
    named(
        "reciprocal", "torch.reciprocal", "jnp.reciprocal", "Reciprocal", "np.reciprocal", POSITIVE
    ),
    named("relu", "torch.relu", "nn.relu", "Relu"),
    named("rsqrt", "torch.rsqrt", "lax.rsqrt", domain=POSITIVE, flops=2.0),
    named("sigmoid", "torch.sigmoid", "nn.sigmoid", "Sigmoid", flops=SERIES),
    named("sign", "torch.sign", "jnp.sign", "Sign", "np.sign"),
    named("sin", "torch.sin", "jnp.sin", "Sin", "np.sin", flops=SERIES),
    named("sinh", "torch.sinh", "jnp.sinh", "Sinh", "np.sinh", flops=SERIES),
    named("softsign", "F.softsign", "nn.soft_sign", "Softsign", flops=3.0),
    named("sqrt", "torch.sqrt", "jnp.sqrt", "Sqrt", "np.sqrt", POSITIVE),
    named("square", "torch.square", "jnp.square", "", "np.square"),
    without_gradient(
        named("stop_gradient", "torch.detach", "lax.stop_gradient", mxnet="nd.BlockGrad", flops=0.0)
    ),
    named("tan", "torch.tan", "jnp.tan", "Tan", "np.tan", GENTLE, flops=SERIES),
    named("tanh", "torch.tanh", "jnp.tanh", "Tanh", "np.tanh", flops=SERIES),
)  # fmt: skip
