"""Factorisations, triangular matrices and their kin, in full precision.

The matrices are well conditioned: symmetric positive definite with eigenvalues from 1 to 5, or
lower triangular with a diagonal from 1 to 2. Determinants of larger matrices leave the range of
floats, so `det` stays with small ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isqrt
from typing import Any

from opbench.define.program import LOWER, NORMAL, SPD, Domain
from opbench.suites.ops.entry import COMPLEX, FULL, Call, Input, Operator, Shape, Values
from opbench.suites.ops.shapes import (
    SQUARES,
    op,
    sizes,
)


def cube(factor: float) -> Callable[[Values], float]:
    return lambda v: factor * v.data[0] * v.data[1] ** 3


def linalg(
    name: str,
    domain: Domain = SPD,
    flops: Callable[[Values], float] | None = None,
    more_inputs: tuple[Input, ...] = (),
    shapes: Mapping[str, Any] = SQUARES,
    **more: Any,
) -> Operator:
    inputs = (Input("data", domain), *more_inputs)
    return op(
        f"linalg_{name}", "linalg", inputs, shapes, flops=flops,
        **{"dtypes": FULL, "tolerance": 100.0, **more},
    )  # fmt: skip


def like(v: Values) -> Shape:
    """A second matrix of the same shape."""
    return tuple(v.data)


def triangles(v: Values) -> Shape:
    """The square matrices whose lower triangles are packed into rows of n · (n + 1) / 2."""
    n = (isqrt(8 * v.data[1] + 1) - 1) // 2
    return (v.data[0], n, n)


VECTORS = sizes((64,), (1024,), (4096,))

OPERATORS = (
    linalg("det", flops=cube(2 / 3), shapes={"data": {**SQUARES, "large": (256, 128, 128)}},
        needs={"min(data) >= 1": "jax"}, result=lambda v: v.data[:1],
        absent={"onnxruntime": "ONNX has Det, ONNX Runtime has no kernel for it"},
        torch="torch.linalg.det(data)", mxnet="nd.linalg.det(data)", numpy="np.linalg.det(data)"),
    linalg("slogdet", flops=cube(2 / 3), result=lambda v: v.data[:1],
        torch="s, y = torch.linalg.slogdet(data)", mxnet="s, y = nd.linalg.slogdet(data)",
        numpy="s, y = np.linalg.slogdet(data)"),
    linalg("inverse", flops=cube(2.0),
        torch="torch.linalg.inv(data)", mxnet="nd.linalg.inverse(data)",
        numpy="np.linalg.inv(data)"),
    linalg("potrf", flops=cube(1 / 3), aliases=("cholesky",),
        torch="torch.linalg.cholesky(data)", mxnet="nd.linalg.potrf(data)",
        numpy="np.linalg.cholesky(data)"),
    # Its gradient is that of the lower triangle, torch's one of the whole matrix.
    linalg("potri", LOWER, flops=cube(2 / 3), aliases=("cholesky_inverse",),
        torch="torch.cholesky_inverse(data)",
        mxnet=Call("nd.linalg.potri(data)", differentiable=False)),
    # Signs of the factors are a matter of convention, so only shapes are compared.
    linalg("gelqf", flops=cube(8 / 3), parity="shape",
        torch=Call("y, r = torch.linalg.qr(data.mT)", emulated=True),
        mxnet="y, r = nd.linalg.gelqf(data)",
        numpy=Call("y, r = np.linalg.qr(np.swapaxes(data, -1, -2))", emulated=True)),
    linalg("gemm", NORMAL, needs={"len(data) == 2": ""}, flops=lambda v: 2.0 * v.data[0] ** 3,
        more_inputs=(Input("other", shape=like), Input("bias", shape=like)),
        shapes={"data": sizes((64, 64), (1024, 1024), (2048, 2048))}, tolerance=8.0,
        aliases=("addmm",), dtypes=(*FULL, COMPLEX),
        torch="torch.addmm(bias, data, other)", onnx="Gemm(data, other, bias)",
        mxnet="nd.linalg.gemm(data, other, bias)",
        numpy=Call("data @ other + bias", note="a product, and a sum with the bias")),
    linalg("gemm2", NORMAL, flops=cube(2.0), more_inputs=(Input("other", shape=like),),
        tolerance=8.0, dtypes=(*FULL, COMPLEX),
        torch="torch.matmul(data, other)", onnx="MatMul(data, other)",
        mxnet="nd.linalg.gemm2(data, other)", numpy="np.matmul(data, other)"),
    linalg("syrk", NORMAL, needs={"len(data) == 3": "onnxruntime"}, flops=cube(1.0), tolerance=8.0,
        torch=Call("data @ data.mT", emulated=True),
        onnx=Call("t = Transpose(data, perm=[0, 2, 1])\ny = MatMul(data, t)", emulated=True),
        mxnet="nd.linalg.syrk(data)",
        numpy=Call("data @ np.swapaxes(data, -1, -2)", emulated=True)),
    linalg("trmm", LOWER, flops=cube(1.0), more_inputs=(Input("other", shape=like),), tolerance=8.0,
        torch=Call("torch.tril(data) @ other", emulated=True),
        onnx=Call("t = Trilu(data, upper=0)\ny = MatMul(t, other)", emulated=True),
        mxnet="nd.linalg.trmm(data, other)", numpy=Call("np.tril(data) @ other", emulated=True)),
    linalg("trsm", LOWER, flops=cube(1.0), more_inputs=(Input("other", shape=like),),
        torch="torch.linalg.solve_triangular(data, other, upper=False)",
        jax="jax.scipy.linalg.solve_triangular(data, other, lower=True)",
        mxnet="nd.linalg.trsm(data, other)"),
    linalg("extractdiag", NORMAL, result=lambda v: v.data[:2], partly=("data",),
        torch="torch.diagonal(data, dim1=-2, dim2=-1)", mxnet="nd.linalg.extractdiag(data)",
        numpy="np.diagonal(data, axis1=-2, axis2=-1)"),
    linalg("makediag", NORMAL, shapes={"data": VECTORS}, result=lambda v: (v.data[0], v.data[0]),
        aliases=("diag_embed",),
        torch="torch.diag_embed(data)", mxnet="nd.linalg.makediag(data)", numpy="np.diag(data)"),
    # Packs the lower triangle into a vector; `tril` would only clear the upper one.
    linalg("extracttrian", NORMAL, result=lambda v: (v.data[0], v.data[1] * (v.data[1] + 1) // 2),
        torch=Call("data[:, i, j]",
            setup="n = data.shape[-1]\ni, j = torch.tril_indices(n, n, device=data.device)"),
        jax=Call("data[:, i, j]", setup="i, j = jnp.tril_indices(data.shape[-1])"),
        mxnet="nd.linalg.extracttrian(data)",
        numpy=Call("data[:, i, j]", setup="i, j = np.tril_indices(data.shape[-1])")),
    linalg("maketrian", NORMAL,
        needs={"data[1] == isqrt(2 * data[1]) * (isqrt(2 * data[1]) + 1) / 2": ""},
        shapes={"data": sizes((4, 136), (16, 8256), (8, 131328))},
        result=lambda v: triangles(v),
        torch=Call(lambda v: f"y = data.new_zeros({triangles(v)})\ny[:, i, j] = data",
            setup=lambda v: f"i, j = torch.tril_indices(*{triangles(v)[1:]}, device=data.device)",
            emulated=True),
        jax=Call(lambda v: f"jnp.zeros({triangles(v)}, data.dtype).at[:, i, j].set(data)",
            setup=lambda v: f"i, j = jnp.tril_indices({triangles(v)[1]})", emulated=True),
        mxnet="nd.linalg.maketrian(data)",
        numpy=Call(lambda v: f"y = np.zeros({triangles(v)}, data.dtype)\ny[:, i, j] = data",
            setup=lambda v: f"i, j = np.tril_indices({triangles(v)[1]})", emulated=True)),
    linalg("sumlogdiag", SPD, result=lambda v: v.data[:1],
        torch=Call("torch.diagonal(data, dim1=-2, dim2=-1).log().sum(-1)", emulated=True),
        mxnet="nd.linalg.sumlogdiag(data)",
        numpy=Call("np.log(np.diagonal(data, axis1=-2, axis2=-1)).sum(-1)", emulated=True)),
    linalg("svd", NORMAL, flops=cube(22.0), shapes={"data": {**SQUARES, "large": (2, 512, 512)}},
        result=lambda v: v.data[:2], aliases=("svd",),
        torch="u, y, v = torch.linalg.svd(data, full_matrices=False)",
        numpy="u, y, v = np.linalg.svd(data, full_matrices=False)"),
    linalg("syevd", flops=cube(9.0), shapes={"data": {**SQUARES, "large": (2, 512, 512)}},
        result=lambda v: v.data[:2], aliases=("eigh",),
        torch="y, u = torch.linalg.eigh(data)", mxnet="u, y = nd.linalg.syevd(data)",
        numpy="y, u = np.linalg.eigh(data)"),
    linalg("solve", flops=cube(8 / 3), more_inputs=(Input("other", shape=like),),
        aliases=("solve",),
        torch="torch.linalg.solve(data, other)", numpy="np.linalg.solve(data, other)"),
)  # fmt: skip
