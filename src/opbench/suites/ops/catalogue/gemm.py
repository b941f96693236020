"""Products of matrices."""

from __future__ import annotations

from opbench.suites.ops.entry import Input, Operator
from opbench.suites.ops.shapes import shaped

OPERATORS = (
    Operator(
        "dot",
        "gemm",
        (Input("lhs"), Input("rhs")),
        **shaped(
            {
                "lhs": {
                    "small": (64, 64),
                    "typical": (1024, 1024),
                    "large": (4096, 4096),
                    "skewed": (10000, 10),
                },
                "rhs": {
                    "small": (64, 64),
                    "typical": (1024, 1000),
                    "large": (4096, 4096),
                    "skewed": (10, 100),
                },
            }
        ),
        spelling={
            "torch": "torch.mm(lhs, rhs)",
            "onnxruntime": "MatMul(lhs, rhs)",
            "mxnet": "nd.dot(lhs, rhs)",
            "numpy": "np.dot(lhs, rhs)",
        },
        result=lambda v: (v.lhs[0], v.rhs[1]),
        flops=lambda v: 2.0 * v.lhs[0] * v.lhs[1] * v.rhs[1],
        shrinks=("lhs",),
        tolerance=8.0,
        aliases=("mm",),
    ),
    Operator(
        "batch_dot",
        "gemm",
        (Input("lhs"), Input("rhs")),
        **shaped(
            {
                "lhs": {
                    "small": (4, 16, 16),
                    "typical": (32, 256, 256),
                    "large": (32, 1024, 1024),
                    "skewed": (1000, 64, 4),
                },
                "rhs": {
                    "small": (4, 16, 16),
                    "typical": (32, 256, 250),
                    "large": (32, 1024, 1000),
                    "skewed": (1000, 4, 64),
                },
            }
        ),
        spelling={
            "torch": "torch.bmm(lhs, rhs)",
            "onnxruntime": "MatMul(lhs, rhs)",
            "mxnet": "nd.batch_dot(lhs, rhs)",
            "numpy": "np.matmul(lhs, rhs)",
        },
        result=lambda v: (*v.lhs[:2], v.rhs[2]),
        flops=lambda v: 2.0 * v.lhs[0] * v.lhs[1] * v.lhs[2] * v.rhs[2],
        tolerance=8.0,
        classic="BatchDot",
        aliases=("bmm",),
    ),
    Operator(
        "khatri_rao",
        "gemm",
        (Input("lhs"), Input("rhs")),
        **shaped(
            {
                "lhs": {"small": (8, 8), "typical": (128, 64), "skewed": (4096, 2)},
                "rhs": {"small": (8, 8), "typical": (128, 64), "skewed": (16, 2)},
            }
        ),
        spelling={
            "torch": "torch.einsum('ik,jk->ijk', lhs, rhs).reshape(-1, lhs.shape[1])",
            "mxnet": "nd.khatri_rao(lhs, rhs)",
            "numpy": "(lhs[:, None, :] * rhs[None, :, :]).reshape(-1, lhs.shape[1])",
        },
        result=lambda v: (v.lhs[0] * v.rhs[0], v.lhs[1]),
        shrinks=("lhs",),
    ),
)
