"""What fits nowhere else."""

from __future__ import annotations

from math import prod

from opbench.define.program import integers, uniform
from opbench.suites.ops.entry import ANALYTIC, Call, Input
from opbench.suites.ops.shapes import (
    LINE,
    PLANE,
    op,
    unary,
)

OPERATORS = (
    unary("clip", "misc", shapes=PLANE, flops=2.0, a_min=-1.0, a_max=1.0, aliases=("clamp",),
        torch="torch.clamp(data, {a_min}, {a_max})", onnx="Clip(data, {a_min}, {a_max})",
        mxnet="nd.clip(data, {a_min}, {a_max})", numpy="np.clip(data, {a_min}, {a_max})"),
    unary("cumsum", "misc", shapes=PLANE, axis=1, tolerance=64.0, dtypes=ANALYTIC,
        torch="torch.cumsum(data, {axis})", onnx="CumSum(data, {axis})",
        mxnet="nd.cumsum(data, axis={axis})", numpy="np.cumsum(data, axis={axis})"),
    op("all_finite", "misc", "data", result=lambda v: (), result_dtype="bool",
        flops=lambda v: float(prod(v.data)), grad=False,
        torch=Call("torch.isfinite(data).all()", emulated=True),
        mxnet=Call("nd.all_finite(data)", compared="y[0]"),
        numpy=Call("np.isfinite(data).all()", emulated=True)),
    # torch gives norms, whose squares are the sums asked for.
    op("multi_sum_sq", "misc", tuple(Input(name) for name in "abcd"), result=lambda v: (4,),
        flops=lambda v: 2.0 * prod(v.a) * 4, tolerance=64.0, grad=False,
        torch=Call("torch.stack(torch._foreach_norm((a, b, c, d))).square()", emulated=True),
        mxnet="nd.multi_sum_sq(a, b, c, d, num_arrays=4)",
        numpy=Call("np.stack([np.vdot(x, x) for x in (a, b, c, d)])", emulated=True)),
    # Of normal numbers one in ten is above 1.28: the others become zeros.
    unary("cast_storage", "misc", flops=0.0, needs={"len(data) == 2": ""},
        absent={"jax": "sparse arrays of JAX are an experiment",
            "onnxruntime": "ONNX Runtime has no sparse kernels",
            "numpy": "NumPy has no sparse arrays"}, grad=False,
        torch=Call("rare.to_sparse_csr()", compilable=False, compared="y.to_dense()",
            setup="rare = torch.where(data > 1.28, data, torch.zeros_like(data))"),
        mxnet=Call("nd.cast_storage(rare, 'csr')", compared="y.tostype('default')",
            setup="rare = nd.where(data > 1.28, data, nd.zeros_like(data))")),
    unary("copyto_asnumpy", "misc", flops=0.0, dtypes=("float32", "float64", "float16"),
        aliases=("asnumpy",),
        absent={"onnxruntime": "this is what every call of ONNX Runtime does with its results"},
        grad=False,
        torch=Call("data.cpu().numpy().copy()", compilable=False,
            note="numpy() alone shares the memory: copied, as others do"),
        jax=Call("np.array(data)", compilable=False), mxnet="data.asnumpy()",
        numpy=Call("np.copy(data)", note="the same call as identity")),
    unary("cumprod", "misc", uniform(0.9, 1.1), shapes=PLANE, axis=1, tolerance=64.0,
        torch="torch.cumprod(data, {axis})", numpy="np.cumprod(data, axis={axis})"),
    op("multi_all_finite", "misc", tuple("abcd"), grad=False, result=lambda v: (),
        result_dtype="bool", flops=lambda v: 4.0 * prod(v.a), torch=Call(
            "torch.stack([torch.isfinite(x).all() for x in (a, b, c, d)]).all()", emulated=True),
        mxnet=Call("nd.multi_all_finite(a, b, c, d, num_arrays=4)", compared="y[0]")),
    op("reset_arrays", "misc", tuple("abcd"), grad=False, flops=0.0, parity="",
        torch=Call("torch._foreach_zero_([a, b, c, d])\ny = a", compilable=False),
        mxnet="nd.reset_arrays(a, b, c, d, num_arrays=4)\ny = a"),
    op("amp_multicast", "misc", ("lhs", "rhs"), grad=False, flops=0.0, several=True, parity="",
        dtypes=("float32",), mxnet=Call("nd.amp_multicast(lhs, rhs, num_outputs=2)",
            note="builds with oneDNN take float32 alone: nothing is left to cast")),
    op("bincount", "misc", (Input("data", lambda v: integers(0, v.bins)),),
        shapes=LINE, bins=1000, grad=False, dtypes=("int64", "int32"), result=lambda v: (v.bins,),
        result_dtype="int64", flops=lambda v: float(prod(v.data)),
        torch="torch.bincount(data, minlength={bins})", jax="jnp.bincount(data, length={bins})",
        numpy="np.bincount(data, minlength={bins})"),
    op("cosine_similarity", "misc", ("lhs", "rhs"), shapes={"lhs": PLANE, "rhs": PLANE},
        result=lambda v: v.lhs[:1], flops=lambda v: 6.0 * prod(v.lhs), tolerance=16.0,
        torch="F.cosine_similarity(lhs, rhs, dim=1)",
        numpy=Call("np.sum(lhs * rhs, axis=1) / "
            "(np.linalg.norm(lhs, axis=1) * np.linalg.norm(rhs, axis=1))", emulated=True)),
)  # fmt: skip
