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
from opbench.suites.ops.entry import FULL, Call, Input, Operator, Shape, Values
from opbench.suites.ops.shapes import SQUARES, shaped


def cube(factor: float) -> Callable[[Values], float]:
    return lambda v: factor * v.data[0] * v.data[1] ** 3


def linalg(
    name: str,
    spelling: Mapping[str, str | Call],
    domain: Domain = SPD,
    flops: Callable[[Values], float] | None = None,
    more_inputs: tuple[Input, ...] = (),
    shapes: Mapping[str, Mapping[str, Any]] | None = None,
    **more: Any,
) -> Operator:
    return Operator(
        f"linalg_{name}",
        "linalg",
        (Input("data", domain), *more_inputs),
        **shaped(shapes or {"data": SQUARES}),
        spelling=spelling,
        flops=flops,
        dtypes=FULL,
        **{"tolerance": 100.0, **more},
    )


def like(v: Values) -> Shape:
    """A second matrix of the same shape."""
    return tuple(v.data)


def triangles(v: Values) -> Shape:
    """The square matrices whose lower triangles are packed into rows of n · (n + 1) / 2."""
    n = (isqrt(8 * v.data[1] + 1) - 1) // 2
    return (v.data[0], n, n)


VECTORS = {"small": (64,), "typical": (1024,), "large": (4096,)}

OPERATORS = (
    linalg(
        "det",
        {
            "torch": "torch.linalg.det(data)",
            "mxnet": "nd.linalg.det(data)",
            "numpy": "np.linalg.det(data)",
        },
        flops=cube(2 / 3),
        shapes={"data": {**SQUARES, "large": (256, 128, 128)}},
        result=lambda v: v.data[:1],
        absent={"onnxruntime": "ONNX has Det, ONNX Runtime has no kernel for it"},
    ),
    linalg(
        "slogdet",
        {
            "torch": "s, y = torch.linalg.slogdet(data)",
            "mxnet": "s, y = nd.linalg.slogdet(data)",
            "numpy": "s, y = np.linalg.slogdet(data)",
        },
        flops=cube(2 / 3),
        result=lambda v: v.data[:1],
    ),
    linalg(
        "inverse",
        {
            "torch": "torch.linalg.inv(data)",
            "mxnet": "nd.linalg.inverse(data)",
            "numpy": "np.linalg.inv(data)",
        },
        flops=cube(2.0),
    ),
    linalg(
        "potrf",
        {
            "torch": "torch.linalg.cholesky(data)",
            "mxnet": "nd.linalg.potrf(data)",
            "numpy": "np.linalg.cholesky(data)",
        },
        flops=cube(1 / 3),
        aliases=("cholesky",),
    ),
    linalg(
        "potri",
        {
            "torch": "torch.cholesky_inverse(data)",
            # Its gradient is that of the lower triangle, torch's one of the whole matrix.
            "mxnet": Call("nd.linalg.potri(data)", differentiable=False),
        },
        LOWER,
        flops=cube(2 / 3),
        aliases=("cholesky_inverse",),
    ),
    # Signs of the factors are a matter of convention, so only shapes are compared.
    linalg(
        "gelqf",
        {
            "torch": "y, r = torch.linalg.qr(data.mT)",
            "mxnet": "y, r = nd.linalg.gelqf(data)",
            "numpy": "y, r = np.linalg.qr(np.swapaxes(data, -1, -2))",
        },
        flops=cube(8 / 3),
        parity="shape",
        aliases=("qr",),
    ),
    linalg(
        "gemm",
        {
            "torch": "torch.addmm(bias, data, other)",
            "onnxruntime": "Gemm(data, other, bias)",
            "mxnet": "nd.linalg.gemm(data, other, bias)",
            "numpy": "data @ other + bias",
        },
        NORMAL,
        flops=lambda v: 2.0 * v.data[0] ** 3,
        more_inputs=(Input("other", shape=like), Input("bias", shape=like)),
        shapes={"data": {"small": (64, 64), "typical": (1024, 1024), "large": (2048, 2048)}},
        tolerance=8.0,
        aliases=("addmm",),
    ),
    linalg(
        "gemm2",
        {
            "torch": "torch.matmul(data, other)",
            "onnxruntime": "MatMul(data, other)",
            "mxnet": "nd.linalg.gemm2(data, other)",
            "numpy": "np.matmul(data, other)",
        },
        NORMAL,
        flops=cube(2.0),
        more_inputs=(Input("other", shape=like),),
        tolerance=8.0,
        aliases=("matmul",),
    ),
    linalg(
        "syrk",
        {
            "torch": "data @ data.mT",
            "onnxruntime": "t = Transpose(data, perm=[0, 2, 1])\ny = MatMul(data, t)",
            "mxnet": "nd.linalg.syrk(data)",
            "numpy": "data @ np.swapaxes(data, -1, -2)",
        },
        NORMAL,
        flops=cube(1.0),
        tolerance=8.0,
    ),
    linalg(
        "trmm",
        {
            "torch": "torch.tril(data) @ other",
            "onnxruntime": "t = Trilu(data, upper=0)\ny = MatMul(t, other)",
            "mxnet": "nd.linalg.trmm(data, other)",
            "numpy": "np.tril(data) @ other",
        },
        LOWER,
        flops=cube(1.0),
        more_inputs=(Input("other", shape=like),),
        tolerance=8.0,
    ),
    linalg(
        "trsm",
        {
            "torch": "torch.linalg.solve_triangular(data, other, upper=False)",
            "jax": "jax.scipy.linalg.solve_triangular(data, other, lower=True)",
            "mxnet": "nd.linalg.trsm(data, other)",
        },
        LOWER,
        flops=cube(1.0),
        more_inputs=(Input("other", shape=like),),
    ),
    linalg(
        "extractdiag",
        {
            "torch": "torch.diagonal(data, dim1=-2, dim2=-1)",
            "mxnet": "nd.linalg.extractdiag(data)",
            "numpy": "np.diagonal(data, axis1=-2, axis2=-1)",
        },
        NORMAL,
        result=lambda v: v.data[:2],
    ),
    linalg(
        "makediag",
        {
            "torch": "torch.diag_embed(data)",
            "mxnet": "nd.linalg.makediag(data)",
            "numpy": "np.diag(data)",
        },
        NORMAL,
        shapes={"data": VECTORS},
        result=lambda v: (v.data[0], v.data[0]),
    ),
    # Packs the lower triangle into a vector; `tril` would only clear the upper one.
    linalg(
        "extracttrian",
        {
            "torch": Call(
                "data[:, i, j]",
                setup="n = data.shape[-1]\ni, j = torch.tril_indices(n, n, device=data.device)",
            ),
            "jax": Call("data[:, i, j]", setup="i, j = jnp.tril_indices(data.shape[-1])"),
            "mxnet": "nd.linalg.extracttrian(data)",
            "numpy": Call("data[:, i, j]", setup="i, j = np.tril_indices(data.shape[-1])"),
        },
        NORMAL,
        result=lambda v: (v.data[0], v.data[1] * (v.data[1] + 1) // 2),
    ),
    linalg(
        "maketrian",
        {
            "torch": Call(
                lambda v: f"y = data.new_zeros({triangles(v)})\ny[:, i, j] = data",
                setup=lambda v: (
                    f"i, j = torch.tril_indices(*{triangles(v)[1:]}, device=data.device)"
                ),
            ),
            "jax": Call(
                lambda v: f"jnp.zeros({triangles(v)}, data.dtype).at[:, i, j].set(data)",
                setup=lambda v: f"i, j = jnp.tril_indices({triangles(v)[1]})",
            ),
            "mxnet": "nd.linalg.maketrian(data)",
            "numpy": Call(
                lambda v: f"y = np.zeros({triangles(v)}, data.dtype)\ny[:, i, j] = data",
                setup=lambda v: f"i, j = np.tril_indices({triangles(v)[1]})",
            ),
        },
        NORMAL,
        shapes={"data": {"small": (4, 136), "typical": (16, 8256), "large": (8, 131328)}},
        result=lambda v: triangles(v),
    ),
    linalg(
        "sumlogdiag",
        {
            "torch": "torch.diagonal(data, dim1=-2, dim2=-1).log().sum(-1)",
            "mxnet": "nd.linalg.sumlogdiag(data)",
            "numpy": "np.log(np.diagonal(data, axis1=-2, axis2=-1)).sum(-1)",
        },
        SPD,
        result=lambda v: v.data[:1],
    ),
    linalg(
        "svd",
        {
            "torch": "u, y, v = torch.linalg.svd(data, full_matrices=False)",
            "numpy": "u, y, v = np.linalg.svd(data, full_matrices=False)",
        },
        NORMAL,
        flops=cube(22.0),
        shapes={"data": {**SQUARES, "large": (2, 512, 512)}},
        result=lambda v: v.data[:2],
        aliases=("svd",),
    ),
    linalg(
        "syevd",
        {
            "torch": "y, u = torch.linalg.eigh(data)",
            "mxnet": "u, y = nd.linalg.syevd(data)",
            "numpy": "y, u = np.linalg.eigh(data)",
        },
        flops=cube(9.0),
        shapes={"data": {**SQUARES, "large": (2, 512, 512)}},
        result=lambda v: v.data[:2],
        aliases=("eigh",),
    ),
    linalg(
        "solve",
        {
            "torch": "torch.linalg.solve(data, other)",
            "numpy": "np.linalg.solve(data, other)",
        },
        flops=cube(8 / 3),
        more_inputs=(Input("other", shape=like),),
        aliases=("solve",),
    ),
)
