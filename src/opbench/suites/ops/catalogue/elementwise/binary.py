"""Arithmetic on two tensors, element by element, and sums of more of them."""

from __future__ import annotations

from typing import Any

from opbench.define.program import POSITIVE, Domain, uniform
from opbench.suites.ops.entry import ANALYTIC, ANY, NUMBERS, Call, Input, Operator
from opbench.suites.ops.families import family
from opbench.suites.ops.shapes import binary, op

#: Of two positive numbers the remainder of Python and that of C are the same; ONNX has, for floats,
#: that of C.
TABLE = """
add          =          =         Add  =                =
mul          =          multiply  Mul  multiply         multiply
sub          =          subtract  Sub  subtract         subtract
div          =          divide    Div  divide           divide      normal|positive
mod          remainder  =         -    modulo           =           0..8|positive
fmod         =          =         -    -                =           0..8|positive
hypot        =          =         -    broadcast_hypot  =           positive|positive   4
maximum      =          =         Max  =                =
minimum      =          =         Min  =                =
arctan2      atan2      =         -    -                =           normal|positive     20
copysign     =          =         -    -                =
floor_divide =          =         -    -                =           -100..100|positive
logaddexp    =          =         -    -                =           normal|normal       30
xlogy        =     jax.scipy.special.xlogy  -  -        -           normal|positive     16
bitwise_and  =          =    BitwiseAnd  -              =           0:100|0:100
bitwise_or   =          =    BitwiseOr   -              =           0:100|0:100
bitwise_xor  =          =    BitwiseXor  -              =           0:100|0:100
bitwise_left_shift  =   left_shift   -   -              left_shift  0:100|0:8
bitwise_right_shift =   right_shift  -   -              right_shift 0:100|0:8
gcd          =          =         -    -                =           1:100|1:100
"""
WHOLE: dict[str, Any] = {"dtypes": ("int32", "int64", "int8"), "grad": False}
NARROW = {**WHOLE, "dtypes": ("int32", "int64")}
#: A quotient that is all but whole falls on either side.
STEP: dict[str, Any] = {"parity": "ties", "onnx": "Mod(lhs, rhs, fmod=1)"}
SAME_STEP = {**STEP, "onnx": Call("Mod(lhs, rhs, fmod=1)", note="the same call as fmod")}
MORE: dict[str, dict[str, Any]] = {
    "add": {"dtypes": NUMBERS, "aliases": ("broadcast_add",)},
    "mul": {"dtypes": NUMBERS, "aliases": ("broadcast_mul",), "classic": "Multiply"},
    "sub": {"dtypes": NUMBERS, "aliases": ("broadcast_sub",), "classic": "Subtract"},
    "div": {"dtypes": ANALYTIC, "aliases": ("broadcast_div",), "classic": "Divide"},
    "mod": {**SAME_STEP, "dtypes": ANY, "aliases": ("broadcast_mod",), "classic": "Modulo"},
    "fmod": {**STEP, "dtypes": ANY},
    "hypot": {"aliases": ("broadcast_hypot",)},
    "maximum": {"dtypes": ANY, "aliases": ("broadcast_maximum",)},
    "minimum": {"dtypes": ANY, "aliases": ("broadcast_minimum",)},
    "arctan2": {"aliases": ("atan2",)},
    "floor_divide": {"dtypes": ANY, "grad": False, "parity": "ties"},
    "logaddexp": {"tolerance": 4.0},
    "xlogy": {"tolerance": 4.0},
    "bitwise_and": WHOLE,
    "bitwise_or": WHOLE,
    "bitwise_xor": WHOLE,
    "bitwise_left_shift": NARROW,
    "bitwise_right_shift": NARROW,
    "gcd": NARROW,
}  # fmt: skip


def arithmetic(name: str, lhs: Domain, rhs: Domain | None = None, **more: Any) -> Operator:
    return binary(name, "binary", lhs, rhs or lhs, **more)


THREE: dict[str, Any] = {"flops": 3.0, "value": 0.5, "dtypes": ANALYTIC}

OPERATORS = (
    *family(TABLE, "lhs, rhs", arithmetic, MORE),
    op("power", "binary", (Input("base", POSITIVE), Input("exp", uniform(-2.0, 2.0))), flops=30.0,
        dtypes=ANALYTIC, aliases=("broadcast_power", "pow"),
        torch="torch.pow(base, exp)", onnx="Pow(base, exp)", mxnet="nd.power(base, exp)",
        numpy="np.power(base, exp)"),
    op("add_n", "binary", tuple("abcd"), flops=3.0, dtypes=NUMBERS,
        torch=Call("a + b + c + d", emulated=True),
        onnx="Sum(a, b, c, d)", mxnet="nd.add_n(a, b, c, d)",
        numpy=Call("a + b + c + d", emulated=True)),
    op("addcmul", "binary", ("data", "lhs", "rhs"), **THREE,
        torch="torch.addcmul(data, lhs, rhs, value={value})",
        numpy=Call("data + {value} * lhs * rhs", emulated=True)),
    op("addcdiv", "binary", ("data", "lhs", Input("rhs", POSITIVE)), **THREE,
        torch="torch.addcdiv(data, lhs, rhs, value={value})",
        numpy=Call("data + {value} * lhs / rhs", emulated=True)),
    op("lerp", "binary", ("start", "end"), flops=3.0, weight=0.3,
        torch="torch.lerp(start, end, {weight})",
        numpy=Call("start + {weight} * (end - start)", emulated=True)),
    # MXNet has operators of their own for tensors of the same shape, which do not broadcast.
    *(
        binary(f"elemwise_{name}", "binary", rhs=POSITIVE, mxnet=f"nd.elemwise_{name}(lhs, rhs)",
               torch=Call(f"torch.{name}(lhs, rhs)", note=f"the same call as {name}"),
               classic=f"Elemwise{name.capitalize()}",
               dtypes=ANALYTIC if name == "div" else NUMBERS)
        for name in ("add", "sub", "mul", "div")
    ),
)  # fmt: skip
