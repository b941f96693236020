"""Sorting and searching along an axis, in random values: sorted ones are several times faster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opbench.define.program import integers
from opbench.suites.ops.catalogue.reduction import left
from opbench.suites.ops.entry import ANY, Call, Input, Operator, Values
from opbench.suites.ops.shapes import PLANE, shaped

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
            "parity": "ties",
            "dtypes": ANY,
            **more,
        },
    )


def largest_in_jax(v: Values) -> str:
    """`lax.top_k` knows the last axis alone."""
    if v.axis % 2 == 1:
        return f"y, i = lax.top_k(data, {v.k})"
    return f"y, i = lax.top_k(data.T, {v.k})\ny = y.T"


def largest_in_numpy(v: Values) -> str:
    kept = f"[:, :{v.k}]" if v.axis % 2 == 1 else f"[:{v.k}]"
    return f"-np.sort(np.partition(-data, {v.k}, axis={v.axis}){kept}, axis={v.axis})"


OPERATORS = (
    Operator(
        "sort",
        "sort_search",
        (Input("data"),),
        **shaped({"data": SORTED}, axis=1),
        spelling={
            "torch": "y, i = torch.sort(data, {axis})",
            "mxnet": "nd.sort(data, axis={axis})",
            "numpy": "np.sort(data, axis={axis})",
        },
        flops=None,
        dtypes=ANY,
        parity="ties",  # their gradients may change places
    ),
    search(
        "argsort",
        {
            "torch": "torch.argsort(data, {axis})",
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
            "jax": largest_in_jax,
            "onnxruntime": "y, i = TopK(data, [{k}], axis={axis})",
            "mxnet": "nd.topk(data, k={k}, axis={axis}, ret_typ='value')",
            "numpy": largest_in_numpy,
        },
        result=lambda v: (v.data[0], v.k) if v.axis % 2 == 1 else (v.k, v.data[1]),
        flops=None,
        dtypes=ANY,
        classic="TopK",
    ),
    *(
        search(
            name,
            {
                "torch": f"torch.{name}(data, {{axis}})",
                "onnxruntime": f"{classic}(data, axis={{axis}}, keepdims=0)",
                "mxnet": f"nd.{name}(data, axis={{axis}})",
                "numpy": f"np.{name}(data, axis={{axis}})",
            },
            result=left,
            flops=lambda v: v.data[0] * v.data[1],
            classic=classic,
        )
        for name, classic in (("argmax", "ArgMax"), ("argmin", "ArgMin"))
    ),
    Operator(
        "searchsorted",
        "sort_search",
        (
            Input("data", grad=False),
            Input("values", grad=False, shape=lambda v: (v.count,)),
        ),
        **shaped(
            {
                "data": {"small": (4096,), "typical": (1048576,), "large": (16777216,)},
                "count": {"small": 64, "typical": 65536, "large": 1048576},
            }
        ),
        spelling={
            "torch": Call("torch.searchsorted(ordered, values)", setup="ordered, i = data.sort()"),
            "jax": Call("jnp.searchsorted(ordered, values)", setup="ordered = jnp.sort(data)"),
            "numpy": Call("np.searchsorted(ordered, values)", setup="ordered = np.sort(data)"),
        },
        differentiable=False,
        result=lambda v: (v.count,),
        result_dtype="int64",
        flops=None,
        parity="ties",
        shrinks=("data",),
    ),
    Operator(
        "nonzero",
        "sort_search",
        (Input("data", integers(0, 2), "bool", grad=False),),
        **shaped({"data": PLANE}),
        spelling={
            "torch": "torch.nonzero(data)",
            "onnxruntime": "i = NonZero(data)\ny = Transpose(i, perm=[1, 0])",
            "numpy": "np.argwhere(data)",
        },
        differentiable=False,
        dtypes=("float32",),
        result=lambda v: (v.data[0] * v.data[1] // 2, 2),
        result_dtype="int64",
        flops=0.0,
        absent={"jax": "a jitted function cannot have a result whose shape depends on values"},
    ),
)
