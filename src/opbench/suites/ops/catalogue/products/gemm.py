"""Products of matrices."""

from __future__ import annotations

from opbench.suites.ops.entry import FLOATS, NUMBERS, Call
from opbench.suites.ops.shapes import (
    op,
    sizes,
)

#: What ONNX Runtime multiplies.
MATMUL = ("float32", "float64", "float16", "int32", "int64")

OPERATORS = (
    op("dot", "gemm", ("lhs", "rhs"), sides={"lhs": "m k", "rhs": "k n"},
        shapes={"lhs": sizes((64, 64), (1024, 1024), (4096, 4096), (10000, 10)),
            "rhs": sizes((64, 64), (1024, 1000), (4096, 4096), (10, 100))},
        result=lambda v: (v.lhs[0], v.rhs[1]), flops=lambda v: 2.0 * v.lhs[0] * v.lhs[1] * v.rhs[1],
        shrinks=("lhs",), tolerance=8.0, aliases=("mm", "matmul", "gemm"), dtypes=NUMBERS,
        torch="torch.mm(lhs, rhs)", onnx=Call("MatMul(lhs, rhs)", dtypes=MATMUL),
        mxnet=Call("nd.dot(lhs, rhs)", dtypes=FLOATS),
        numpy="np.dot(lhs, rhs)"),
    op("batch_dot", "gemm", ("lhs", "rhs"), sides={"lhs": "b m k", "rhs": "b k n"},
        shapes={"lhs": sizes((4, 16, 16), (32, 256, 256), (32, 1024, 1024), (1000, 64, 4)),
            "rhs": sizes((4, 16, 16), (32, 256, 250), (32, 1024, 1000), (1000, 4, 64))},
        result=lambda v: (*v.lhs[:2], v.rhs[2]),
        flops=lambda v: 2.0 * v.lhs[0] * v.lhs[1] * v.lhs[2] * v.rhs[2], tolerance=8.0,
        classic="BatchDot", aliases=("bmm",), dtypes=NUMBERS,
        torch="torch.bmm(lhs, rhs)", onnx=Call("MatMul(lhs, rhs)", dtypes=MATMUL),
        mxnet=Call("nd.batch_dot(lhs, rhs)", dtypes=FLOATS),
        numpy="np.matmul(lhs, rhs)"),
    op("khatri_rao", "gemm", ("lhs", "rhs"), needs={"lhs[1] >= 1": ""},
        sides={"lhs": "m k", "rhs": "n k"},
        shapes={"lhs": sizes((8, 8), (128, 64), skewed=(4096, 2)),
            "rhs": sizes((8, 8), (128, 64), skewed=(16, 2))},
        result=lambda v: (v.lhs[0] * v.rhs[0], v.lhs[1]), shrinks=("lhs",),
        torch=Call("torch.einsum('ik,jk->ijk', lhs, rhs).reshape(-1, lhs.shape[1])",
            emulated=True),
        mxnet=Call("nd.khatri_rao(lhs, rhs)", differentiable=False),
        numpy=Call("(lhs[:, None, :] * rhs[None, :, :]).reshape(-1, lhs.shape[1])",
            emulated=True)),
)  # fmt: skip
