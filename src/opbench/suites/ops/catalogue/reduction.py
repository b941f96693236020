"""Sums, products, extremes and norms along an axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opbench.define.program import NORMAL, Domain, integers, uniform
from opbench.suites.ops.entry import ANY, Call, Input, Operator, Values
from opbench.suites.ops.shapes import PLANE, shaped

#: A thousand of these multiply to something between 1e-3 and 1e3.
NEAR_ONE = uniform(0.9, 1.1)


def left(v: Values) -> tuple[int, ...]:
    """What is left of `data` when `axis` is gone."""
    return tuple(n for i, n in enumerate(v.data) if i != v.axis % len(v.data))


def reduction(
    name: str,
    spelling: Mapping[str, str | Call],
    domain: Domain = NORMAL,
    flops: float = 1.0,
    **more: Any,
) -> Operator:
    return Operator(
        name,
        "reduction",
        (Input("data", domain),),
        **shaped({"data": PLANE}, axis=1),
        spelling=spelling,
        result=left,
        flops=lambda v: flops * v.data[0] * v.data[1],
        **more,
    )


def named(torch: str, jax: str, onnx: str, mxnet: str, numpy: str) -> dict[str, str]:
    """Frameworks that differ by the name of the function alone."""
    # Since opset 18 every reduction takes its axes as an input.
    texts = {
        "torch": f"{torch}(data, {{axis}})" if torch else "",
        "jax": f"{jax}(data, axis={{axis}})",
        "onnxruntime": f"{onnx}(data, [{{axis}}], keepdims=0)" if onnx else "",
        "mxnet": f"nd.{mxnet}(data, axis={{axis}})",
        "numpy": f"{numpy}(data, axis={{axis}})",
    }
    return {framework: text for framework, text in texts.items() if text}


OPERATORS = (
    reduction("sum", named("torch.sum", "jnp.sum", "ReduceSum", "sum", "np.sum"), tolerance=4.0),
    reduction(
        "mean", named("torch.mean", "jnp.mean", "ReduceMean", "mean", "np.mean"), tolerance=4.0
    ),
    reduction("max", named("torch.amax", "jnp.max", "ReduceMax", "max", "np.max"), dtypes=ANY),
    reduction("min", named("torch.amin", "jnp.min", "ReduceMin", "min", "np.min"), dtypes=ANY),
    reduction(
        "prod", named("torch.prod", "jnp.prod", "ReduceProd", "prod", "np.prod"), NEAR_ONE,
        tolerance=16.0,
    ),
    reduction(
        "nansum", named("torch.nansum", "jnp.nansum", "", "nansum", "np.nansum"), tolerance=4.0
    ),
    reduction(
        "nanprod", named("", "jnp.nanprod", "", "nanprod", "np.nanprod"), NEAR_ONE, tolerance=16.0
    ),
    reduction(
        "norm",
        {
            **named("", "jnp.linalg.norm", "ReduceL2", "norm", "np.linalg.norm"),
            "torch": "torch.linalg.norm(data, dim={axis})",
        },
        flops=2.0, tolerance=4.0,
    ),
    reduction(
        "moments",
        {
            "torch": "torch.var_mean(data, {axis}, correction=0)",
            "mxnet": "m, v = nd.moments(data, axes=({axis},))\ny = (v, m)",
            "numpy": "(np.var(data, axis={axis}), np.mean(data, axis={axis}))",
        },
        flops=4.0, several=True, tolerance=4.0,
    ),
    reduction(
        "var",
        {
            "torch": "torch.var(data, {axis}, correction=0)",
            "numpy": "np.var(data, axis={axis})",
        },
        flops=3.0, tolerance=8.0,
    ),
    reduction(
        "std",
        {
            "torch": "torch.std(data, {axis}, correction=0)",
            "numpy": "np.std(data, axis={axis})",
        },
        flops=3.0, tolerance=8.0,
    ),
    reduction(
        "logsumexp",
        {
            "torch": "torch.logsumexp(data, {axis})",
            "jax": "jax.scipy.special.logsumexp(data, axis={axis})",
            "onnxruntime": "ReduceLogSumExp(data, [{axis}], keepdims=0)",
            "numpy": "np.logaddexp.reduce(data, axis={axis})",
        },
        flops=17.0, tolerance=8.0,
    ),
    *(
        Operator(
            name,
            "reduction",
            (Input("data", integers(0, 2), "bool", grad=False),),
            **shaped({"data": PLANE}, axis=1),
            spelling={
                "torch": f"torch.{name}(data, {{axis}})",
                "numpy": f"np.{name}(data, axis={{axis}})",
            },
            differentiable=False,
            dtypes=("float32",),
            result=left,
            result_dtype="bool",
            flops=lambda v: float(v.data[0] * v.data[1]),
        )
        for name in ("any", "all")
    ),
)  # fmt: skip
