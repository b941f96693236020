"""Sorting and searching along an axis, in random values: sorted ones are several times faster."""

from __future__ import annotations

from math import prod
from typing import Any

from opbench.define.program import integers
from opbench.suites.ops.catalogue.tensors.reduction import left
from opbench.suites.ops.entry import ANY, Call, Input, Operator, Shape, Values
from opbench.suites.ops.shapes import LINE, PLANE, op, sizes

SORTED = {**PLANE, "large": (4096, 1024)}


def search(name: str, **more: Any) -> Operator:
    given = {"flops": None, "result_dtype": "int64", "parity": "ties", "dtypes": ANY, **more}
    return op(name, "sort_search", "data", SORTED, grad=False, axis=1, any_rank=True, **given)


def largest(v: Values) -> Shape:
    """Shape of the k largest along the axis."""
    axis = v.axis % len(v.data)
    return (*v.data[:axis], v.k, *v.data[axis + 1 :])


def largest_in_jax(v: Values) -> str:
    """`lax.top_k` knows the last axis alone."""
    if v.axis % len(v.data) == len(v.data) - 1:
        return f"y, i = lax.top_k(data, {v.k})"
    moved = f"jnp.moveaxis(data, {v.axis}, -1)"
    back = "\n".join(f"{name} = jnp.moveaxis({name}, -1, {v.axis})" for name in "yi")
    return f"y, i = lax.top_k({moved}, {v.k})\n{back}"


def largest_in_numpy(v: Values) -> str:
    kept = f"[{':, ' * (v.axis % len(v.data))}:{v.k}]"
    return f"-np.sort(np.partition(-data, {v.k}, axis={v.axis}){kept}, axis={v.axis})"


OPERATORS = (
    op("sort", "sort_search", "data", shapes=SORTED, axis=1, flops=None, dtypes=ANY, parity="ties",
        torch=Call("y, i = torch.sort(data, {axis})", note="gives positions too; others do not"),
        mxnet="nd.sort(data, axis={axis})",
        numpy="np.sort(data, axis={axis})"),
    search("argsort", classic="ArgSort",
        torch="torch.argsort(data, {axis})", mxnet="nd.argsort(data, axis={axis})",
        numpy="np.argsort(data, axis={axis})"),
    op("topk", "sort_search", "data", shapes=SORTED, k=8, axis=1, any_rank=True,
        result=largest, flops=None, dtypes=ANY, classic="TopK",
        torch="y, i = torch.topk(data, {k}, {axis})", jax=largest_in_jax,
        onnx=Call("values, positions = TopK(data, [{k}], axis={axis})", compared="y[0]"),
        mxnet="y, i = nd.topk(data, k={k}, axis={axis}, ret_typ='both')",
        numpy=Call(largest_in_numpy, emulated=True, note="gives no positions; others do")),
    *(
        search(name, result=left, flops=lambda v: float(prod(v.data)), classic=classic,
            torch=f"torch.{name}(data, {{axis}})",
            onnx=f"{classic}(data, axis={{axis}}, keepdims=0)",
            mxnet=f"nd.{name}(data, axis={{axis}})", numpy=f"np.{name}(data, axis={{axis}})")
        for name, classic in (("argmax", "ArgMax"), ("argmin", "ArgMin"))
    ),
    op("searchsorted", "sort_search",
        (Input("data", grad=False), Input("values", grad=False, shape=lambda v: (v.count,))),
        shapes={"data": LINE, "count": sizes(64, 65536, 1048576)},
        differentiable=False, result=lambda v: (v.count,), result_dtype="int64", flops=None,
        parity="ties", shrinks=("data",),
        torch=Call("torch.searchsorted(ordered, values)", setup="ordered, i = data.sort()"),
        jax=Call("jnp.searchsorted(ordered, values)", setup="ordered = jnp.sort(data)"),
        numpy=Call("np.searchsorted(ordered, values)", setup="ordered = np.sort(data)")),
    op("nonzero", "sort_search", (Input("data", integers(0, 2)),), grad=False,
        dtypes=("bool",), result=lambda v: (prod(v.data) // 2, len(v.data)), any_rank=True,
        result_dtype="int64", flops=0.0,
        absent={"jax": "a jitted function cannot have a result whose shape depends on values"},
        torch="torch.nonzero(data)", onnx=Call("NonZero(data)", compared="y.T"),
        numpy="np.argwhere(data)"),
)  # fmt: skip
