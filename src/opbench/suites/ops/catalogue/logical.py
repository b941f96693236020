"""Logic on masks, element by element."""

from __future__ import annotations

from opbench.define.program import integers
from opbench.suites.ops.entry import Call, Input, Operator
from opbench.suites.ops.shapes import PLANE, shaped

MASK = integers(0, 2)

#: MXNet 1.9 has no tensors of truth values: its masks are floats.
FLOAT = "{name}_mask = {name}.astype('float32')"


def logical(
    name: str, onnx: str, printed: str, names: tuple[str, ...] = ("lhs", "rhs")
) -> Operator:
    given = ", ".join(names)
    return Operator(
        name,
        "logical",
        tuple(Input(each, MASK, "bool", grad=False) for each in names),
        **shaped(dict.fromkeys(names, PLANE)),
        spelling={
            "torch": f"torch.{name}({given})",
            "onnxruntime": f"{onnx}({given})",
            "mxnet": Call(
                f"nd.{name}({', '.join(f'{each}_mask' for each in names)})",
                setup="\n".join(FLOAT.format(name=each) for each in names),
            ),
            "numpy": f"np.{name}({given})",
        },
        differentiable=False,
        dtypes=("float32",),
        result_dtype="bool",
        printed=printed,
    )


OPERATORS = (
    logical("logical_and", "And", "Logical_And"),
    logical("logical_or", "Or", "Logical_Or"),
    logical("logical_xor", "Xor", "Logical_Xor"),
    logical("logical_not", "Not", "Logical_Not", ("data",)),
)
