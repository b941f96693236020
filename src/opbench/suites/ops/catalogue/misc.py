"""What fits nowhere else."""

from __future__ import annotations

from math import prod

from opbench.define.program import integers, uniform
from opbench.suites.ops.entry import Call, Input, Operator
from opbench.suites.ops.shapes import LINE, PLANE, shaped, unary, without_gradient

OPERATORS = (
    unary(
        "clip",
        "misc",
        {
            "torch": "torch.clamp(data, {a_min}, {a_max})",
            "onnxruntime": "Clip(data, {a_min}, {a_max})",
            "mxnet": "nd.clip(data, {a_min}, {a_max})",
            "numpy": "np.clip(data, {a_min}, {a_max})",
        },
        flops=2.0,
        **shaped({"data": PLANE}, a_min=-1.0, a_max=1.0),
        aliases=("clamp",),
    ),
    unary(
        "cumsum",
        "misc",
        {
            "torch": "torch.cumsum(data, {axis})",
            "onnxruntime": "CumSum(data, {axis})",
            "mxnet": "nd.cumsum(data, axis={axis})",
            "numpy": "np.cumsum(data, axis={axis})",
        },
        **shaped({"data": PLANE}, axis=1),
        tolerance=64.0,
    ),
    without_gradient(
        Operator(
            "all_finite",
            "misc",
            (Input("data"),),
            **shaped({"data": PLANE}),
            spelling={
                "torch": "torch.isfinite(data).all()",
                "mxnet": Call("nd.all_finite(data)", compared="y[0]"),
                "numpy": "np.isfinite(data).all()",
            },
            result=lambda v: (),
            result_dtype="bool",
            flops=lambda v: float(prod(v.data)),
        )
    ),
    without_gradient(
        Operator(
            "multi_sum_sq",
            "misc",
            tuple(Input(name) for name in "abcd"),
            **shaped(dict.fromkeys("abcd", PLANE)),
            spelling={
                # torch gives norms, whose squares are the sums asked for.
                "torch": "torch.stack(torch._foreach_norm((a, b, c, d))).square()",
                "mxnet": "nd.multi_sum_sq(a, b, c, d, num_arrays=4)",
                "numpy": "np.stack([np.vdot(x, x) for x in (a, b, c, d)])",
            },
            result=lambda v: (4,),
            flops=lambda v: 2.0 * prod(v.a) * 4,
            tolerance=64.0,
        )
    ),
    without_gradient(
        unary(
            "cast_storage",
            "misc",
            {
                "torch": Call("data.to_sparse()", compilable=False, compared="y.to_dense()"),
                "mxnet": Call("nd.cast_storage(data, 'csr')", compared="y.tostype('default')"),
            },
            flops=0.0,
            absent={
                "jax": "sparse arrays of JAX are an experiment",
                "onnxruntime": "ONNX Runtime has no sparse kernels",
                "numpy": "NumPy has no sparse arrays",
            },
        )
    ),
    without_gradient(
        unary(
            "copyto_asnumpy",
            "misc",
            {
                "torch": Call("data.cpu().numpy().copy()", compilable=False),
                "jax": Call("jax.device_get(data)", compilable=False),
                "mxnet": "data.asnumpy()",
                "numpy": "np.copy(data)",
            },
            flops=0.0,
            dtypes=("float32", "float64", "float16"),
            aliases=("asnumpy",),
            absent={"onnxruntime": "this is what every call of ONNX Runtime does with its results"},
        )
    ),
    unary(
        "cumprod",
        "misc",
        {
            "torch": "torch.cumprod(data, {axis})",
            "numpy": "np.cumprod(data, axis={axis})",
        },
        uniform(0.9, 1.1),
        **shaped({"data": PLANE}, axis=1),
        tolerance=64.0,
    ),
    Operator(
        "bincount",
        "misc",
        (Input("data", lambda v: integers(0, v.bins), "int64", grad=False),),
        **shaped({"data": LINE}, bins=1000),
        spelling={
            "torch": "torch.bincount(data, minlength={bins})",
            "jax": "jnp.bincount(data, length={bins})",
            "numpy": "np.bincount(data, minlength={bins})",
        },
        differentiable=False,
        result=lambda v: (v.bins,),
        result_dtype="int64",
        flops=lambda v: float(prod(v.data)),
    ),
    Operator(
        "cosine_similarity",
        "misc",
        (Input("lhs"), Input("rhs")),
        **shaped({"lhs": PLANE, "rhs": PLANE}),
        spelling={
            "torch": "F.cosine_similarity(lhs, rhs, dim=1)",
            "numpy": "np.sum(lhs * rhs, axis=1) / "
            "(np.linalg.norm(lhs, axis=1) * np.linalg.norm(rhs, axis=1))",
        },
        result=lambda v: v.lhs[:1],
        flops=lambda v: 6.0 * prod(v.lhs),
        tolerance=16.0,
    ),
)
