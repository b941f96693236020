"""Making tensors of nothing."""

from __future__ import annotations

from typing import Any

from opbench.suites.ops.entry import Operator
from opbench.suites.ops.shapes import PLANE, shaped, unary, without_gradient

#: A graph that only makes a constant is folded into one when the session starts.
NO_ONNX = {"onnxruntime": "ONNX Runtime folds a constant tensor into the model: no call is left"}


def creation(name: str, spelling: dict[str, str], **params: Any) -> Operator:
    return Operator(
        name,
        "creation",
        (),
        **shaped({"shape": PLANE}, **params),
        spelling=spelling,
        differentiable=False,
        result=lambda v: v.shape,
        flops=0.0,
        absent=NO_ONNX,
    )


OPERATORS = (
    creation(
        "zeros",
        {
            "torch": "torch.zeros({shape}, {options})",
            "mxnet": "nd.zeros({shape}, {options})",
            "numpy": "np.zeros({shape}, {options})",
        },
    ),
    creation(
        "ones",
        {
            "torch": "torch.ones({shape}, {options})",
            "mxnet": "nd.ones({shape}, {options})",
            "numpy": "np.ones({shape}, {options})",
        },
    ),
    creation(
        "full",
        {
            "torch": "torch.full({shape}, {val}, {options})",
            "mxnet": "nd.full({shape}, {val}, {options})",
            "numpy": "np.full({shape}, {val}, {options})",
        },
        val=1.5,
    ),
    Operator(
        "arange",
        "creation",
        (),
        params={"start": 0, "stop": 1048576, "step": 1},
        sizes={"small": {"stop": 4096}, "large": {"stop": 16777216}},
        spelling={
            "torch": "torch.arange({start}, {stop}, {step}, {options})",
            "mxnet": "nd.arange({start}, {stop}, {step}, {options})",
            "numpy": "np.arange({start}, {stop}, {step}, {options})",
        },
        differentiable=False,
        # Half floats cannot count that far.
        dtypes=("float32", "float64", "int32", "int64"),
        result=lambda v: ((v.stop - v.start) // v.step,),
        absent=NO_ONNX,
    ),
    without_gradient(
        unary(
            "zeros_like",
            "creation",
            {
                "torch": "torch.zeros_like(data)",
                "mxnet": "nd.zeros_like(data)",
                "numpy": "np.zeros_like(data)",
                "onnxruntime": "s = Shape(data)\ny = ConstantOfShape(s)",
            },
            flops=0.0,
        )
    ),
    without_gradient(
        unary(
            "ones_like",
            "creation",
            {
                "torch": "torch.ones_like(data)",
                "mxnet": "nd.ones_like(data)",
                "numpy": "np.ones_like(data)",
            },
            flops=0.0,
            absent=NO_ONNX,
        )
    ),
)
