"""Logic on masks, element by element."""

from __future__ import annotations

from opbench.define.program import integers
from opbench.suites.ops.entry import Call, Input, Operator
from opbench.suites.ops.shapes import op

#: MXNet 1.9 has no logic of truth values: its masks are floats. ONNX has no other.
MASK = "float32"


def logical(name: str, onnx: str, *names: str) -> Operator:
    given = ", ".join(names)
    return op(
        name, "logical", tuple(Input(each, integers(0, 2)) for each in names), grad=False,
        dtypes=("bool", MASK), result_dtype="bool", printed=name.title(),
        aliases=() if name == "logical_not" else (f"broadcast_{name}",),
        torch=f"torch.{name}({given})", numpy=f"np.{name}({given})",
        onnx=Call(f"{onnx}({given})", dtypes=("bool",)),
        mxnet=Call(f"nd.{name}({given})", dtypes=(MASK,)),
    )  # fmt: skip


OPERATORS = (
    logical("logical_and", "And", "lhs", "rhs"),
    logical("logical_or", "Or", "lhs", "rhs"),
    logical("logical_xor", "Xor", "lhs", "rhs"),
    logical("logical_not", "Not", "data"),
)
