"""Logic on masks, element by element."""

from __future__ import annotations

from opbench.define.program import integers
from opbench.suites.ops.entry import Call, Input, Operator
from opbench.suites.ops.shapes import op

#: MXNet 1.9 has no tensors of truth values: its masks are floats.
FLOAT = "{name}_mask = {name}.astype('float32')"


def logical(name: str, onnx: str, *names: str) -> Operator:
    given = ", ".join(names)
    return op(
        name, "logical", tuple(Input(each, integers(0, 2)) for each in names), grad=False,
        dtypes=("bool",), result_dtype="bool", printed=name.title(),
        aliases=() if name == "logical_not" else (f"broadcast_{name}",),
        torch=f"torch.{name}({given})", onnx=f"{onnx}({given})", numpy=f"np.{name}({given})",
        mxnet=Call(f"nd.{name}({', '.join(f'{each}_mask' for each in names)})",
            setup="\n".join(FLOAT.format(name=each) for each in names)),
    )  # fmt: skip


OPERATORS = (
    logical("logical_and", "And", "lhs", "rhs"),
    logical("logical_or", "Or", "lhs", "rhs"),
    logical("logical_xor", "Xor", "lhs", "rhs"),
    logical("logical_not", "Not", "data"),
)
