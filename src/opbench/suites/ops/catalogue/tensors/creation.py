"""Making tensors of nothing."""

from __future__ import annotations

from typing import Any

from opbench.suites.ops.entry import ALL, ANALYTIC, Call, Operator
from opbench.suites.ops.shapes import (
    PLANE,
    op,
    sizes,
    unary,
)

#: A graph that only makes a constant is folded into one when the session starts.
NO_ONNX = {"onnxruntime": "ONNX Runtime folds a constant tensor into the model: no call is left"}


UNTOUCHED = "the system hands out zeroed pages at first use: this call writes none of them"


def creation(name: str, dtypes: tuple[str, ...] = ALL, **more: Any) -> Operator:
    return op(
        name, "creation", (), {"shape": PLANE}, grad=False, result=lambda v: v.shape, flops=0.0,
        absent=NO_ONNX, dtypes=dtypes, **more,
    )  # fmt: skip


OPERATORS = (
    creation("zeros",
        torch="torch.zeros({shape}, {options})", mxnet="nd.zeros({shape}, {options})",
        numpy=Call("np.zeros({shape}, {options})", note=UNTOUCHED)),
    creation("ones",
        torch="torch.ones({shape}, {options})", mxnet="nd.ones({shape}, {options})",
        numpy="np.ones({shape}, {options})"),
    creation("full", ANALYTIC, val=1.5,
        torch="torch.full({shape}, {val}, {options})", mxnet="nd.full({shape}, {val}, {options})",
        numpy="np.full({shape}, {val}, {options})"),
    # Half floats cannot count that far.
    op("arange", "creation", (), {"stop": sizes(4096, 1048576, 16777216)}, start=0, step=1,
        grad=False, dtypes=("float32", "float64", "int32", "int64"),
        result=lambda v: ((v.stop - v.start) // v.step,), absent=NO_ONNX,
        torch="torch.arange({start}, {stop}, {step}, {options})",
        mxnet="nd.arange({start}, {stop}, {step}, {options})",
        numpy="np.arange({start}, {stop}, {step}, {options})"),
    unary("zeros_like", "creation", flops=0.0, grad=False, dtypes=ALL,
        torch="torch.zeros_like(data)", mxnet="nd.zeros_like(data)",
        numpy=Call("np.zeros_like(data)", note=UNTOUCHED),
        onnx=Call("s = Shape(data)\ny = ConstantOfShape(s)", dtypes=("float32",), emulated=True)),
    unary("ones_like", "creation", flops=0.0, absent=NO_ONNX, grad=False, dtypes=ALL,
        torch="torch.ones_like(data)", mxnet="nd.ones_like(data)", numpy="np.ones_like(data)"),
)  # fmt: skip
