"""Sorting and searching along an axis, in random values: sorted ones are several times faster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opbench.define.operators.entry import ANY, Call, Input, Operator
from opbench.define.operators.reduction import left
from opbench.define.operators.shapes import PLANE, shaped

SORTED = {**PLANE, "large": (4096, 1024)}


def search(name: str, spelling: Mapping[str, str | Call], **more: Any) -> Operator:
    return Operator(
        name,
        "sort_search",
        (Input("data", grad=False),),
        **shaped({"data": SORTED}, axis=1),
        spelling=spelling,
        **{
            "differentiable": False,
            "result_dtype": "int64",
            "flops": None,
            "parity": "indices",
            "dtypes": ANY,
            **more,
        },
    )


OPERATORS = (
    Operator(
        "sort",
        "sort_search",
        (Input("data"),),
        **shaped({"data": SORTED}, axis=1),
        spelling={
            "torch": "y, i = torch.sort(data, {axis})",
            "jax": "jnp.sort(data, axis={axis})",
            "mxnet": "nd.sort(data, axis={axis})",
            "numpy": "np.sort(data, axis={axis})",
        },
        flops=None,
        dtypes=ANY,
    ),
    search(
        "argsort",
        {
            "torch": "torch.argsort(data, {axis})",
            "jax": "jnp.argsort(data, axis={axis})",
            "mxnet": "nd.argsort(data, axis={axis})",
            "numpy": "np.argsort(data, axis={axis})",
        },
        classic="ArgSort",
    ),
    Operator(
        "topk",
        "sort_search",
        (Input("data"),),
        **shaped({"data": SORTED}, k=8, axis=1),
        spelling={
            "torch": "y, i = torch.topk(data, {k}, {axis})",
            "jax": "y, i = lax.top_k(data, {k})",
            "onnxruntime": "y, i = TopK(data, [{k}], axis={axis})",
            "mxnet": "nd.topk(data, k={k}, axis={axis}, ret_typ='value')",
            "numpy": "-np.sort(np.partition(-data, {k}, axis={axis})[:, :{k}], axis={axis})",
        },
        result=lambda v: (v.data[0], v.k),
        flops=None,
        dtypes=ANY,
        classic="TopK",
    ),
    search(
        "argmax",
        {
            "torch": "torch.argmax(data, {axis})",
            "jax": "jnp.argmax(data, axis={axis})",
            "onnxruntime": "ArgMax(data, axis={axis}, keepdims=0)",
            "mxnet": "nd.argmax(data, axis={axis})",
            "numpy": "np.argmax(data, axis={axis})",
        },
        result=left,
        flops=lambda v: v.data[0] * v.data[1],
        classic="ArgMax",
    ),
    search(
        "argmin",
        {
            "torch": "torch.argmin(data, {axis})",
            "jax": "jnp.argmin(data, axis={axis})",
            "onnxruntime": "ArgMin(data, axis={axis}, keepdims=0)",
            "mxnet": "nd.argmin(data, axis={axis})",
            "numpy": "np.argmin(data, axis={axis})",
        },
        result=left,
        flops=lambda v: v.data[0] * v.data[1],
        classic="ArgMin",
    ),
)
