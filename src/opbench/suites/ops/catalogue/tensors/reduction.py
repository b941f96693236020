"""Sums, products, extremes and norms along an axis. A thousand of the factors of `prod` multiply to
something between 1e-3 and 1e3."""

from __future__ import annotations

from math import prod
from typing import Any

from opbench.define.program import NORMAL, Domain
from opbench.suites.ops.entry import ANALYTIC, ANY, Call, Input, Operator, Values, numbers
from opbench.suites.ops.families import family
from opbench.suites.ops.shapes import op


def left(v: Values) -> tuple[int, ...]:
    """What is left of `data` when `axis` is gone."""
    gone = {axis % len(v.data) for axis in numbers(v.axis)}
    return tuple(n for i, n in enumerate(v.data) if i not in gone)


def reduction(name: str, domain: Domain = NORMAL, flops: float = 1.0, **more: Any) -> Operator:
    return op(
        name, "reduction", (Input("data", domain),), axis=1, any_rank=True,
        **{"result": left, "flops": lambda v: flops * prod(v.data), "several_axes": True, **more},
    )  # fmt: skip


def both(name: str) -> str:
    """Values and positions, in two passes over the data."""
    return "\n".join(
        f"{assigned} = np.{function}(data, axis={{axis}})"
        for assigned, function in (("y", name), ("i", f"arg{name}"))
    )


TABLE = """
sum        =      =                              ReduceSum        =      =
mean       =      =                              ReduceMean       =      =
max        amax   =                              ReduceMax        =      =
min        amin   =                              ReduceMin        =      =
prod       =      =                              ReduceProd       =      =       0.9..1.1
nansum     =      =                              -                =      =
nanprod    -      =                              -                =      =       0.9..1.1
norm       -      jnp.linalg.norm                ReduceL2         =      np.linalg.norm  normal  2
var        -      =                              -                -      =       normal  3
std        -      =                              -                -      =       normal  3
logsumexp  =      jax.scipy.special.logsumexp    ReduceLogSumExp  - np.logaddexp.reduce  normal  17
any        =      =                              -                -      =       0:2
all        =      =                              -                -      =       0:2
"""
#: Since opset 18 every reduction of ONNX takes its axes as an input.
ARGUMENTS = {
    **dict.fromkeys(("jax", "mxnet", "numpy"), "data, axis={axis}"),
    "torch": "data, {axis}",
    "onnx": "data, {axes}, keepdims=0",
}
#: torch takes a single axis, or NumPy at most two.
SINGLE: dict[str, Any] = {"several_axes": False}
TRUTH: dict[str, Any] = {"grad": False, "dtypes": ("bool",), "result_dtype": "bool"}
MORE: dict[str, dict[str, Any]] = {
    "sum": {"tolerance": 4.0, "dtypes": (*ANALYTIC, "int32", "int64")},
    "mean": {"tolerance": 4.0, "dtypes": ANALYTIC},
    "max": {"dtypes": ANY, "aliases": ("amax",)},
    "min": {"dtypes": ANY, "aliases": ("amin",)},
    "prod": {"tolerance": 16.0, "dtypes": ANALYTIC, **SINGLE},
    "nansum": {"tolerance": 4.0},
    "nanprod": {"tolerance": 16.0},
    "norm": {
        "tolerance": 4.0,
        "dtypes": ANALYTIC,
        "torch": "torch.linalg.norm(data, dim={axis})",
        **SINGLE,
    },
    "var": {"tolerance": 8.0, "torch": "torch.var(data, {axis}, correction=0)"},
    "std": {"tolerance": 8.0, "torch": "torch.std(data, {axis}, correction=0)"},
    "logsumexp": {"tolerance": 8.0},
    "any": TRUTH,
    "all": TRUTH,
}

OPERATORS = (
    *family(TABLE, ARGUMENTS, reduction, MORE),
    reduction("moments", flops=4.0, several=True, tolerance=4.0,
        torch="torch.var_mean(data, {axis}, correction=0)",
        mxnet="m, v = nd.moments(data, axes={axes})\ny = (v, m)",
        numpy=Call("(np.var(data, axis={axis}), np.mean(data, axis={axis}))", emulated=True)),
    reduction("median", flops=0.0, parity="ties", torch="y, i = torch.median(data, {axis})",
        **SINGLE),
    # Values and positions together, as `torch.max(data, dim)` has them.
    *(
        reduction(f"{name}_dim", dtypes=ANY, torch=f"y, i = torch.{name}(data, {{axis}})",
            numpy=Call(both(name), emulated=True), **SINGLE)
        for name in ("max", "min")
    ),
    reduction("aminmax", dtypes=ANY, several=True, flops=2.0, **SINGLE,
        torch="tuple(torch.aminmax(data, dim={axis}))",
        numpy=Call("(np.min(data, axis={axis}), np.max(data, axis={axis}))", emulated=True)),
    reduction("count_nonzero", dtypes=ANY, grad=False, result_dtype="int64",
        torch="torch.count_nonzero(data, {axis})", numpy="np.count_nonzero(data, axis={axis})"),
)  # fmt: skip
