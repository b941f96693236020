"""Functions of one tensor, element by element."""

from __future__ import annotations

from functools import partial
from typing import Any

from opbench.define.program import Domain
from opbench.suites.ops.entry import ALL, ANALYTIC, ANY, FLOATS, NUMBERS, Call, DType, Operator
from opbench.suites.ops.families import family
from opbench.suites.ops.needs import BACKWARD
from opbench.suites.ops.shapes import unary

#: A transcendental function is some ten to twenty multiplications and additions. Domains: where
#: inverse functions are steep but finite, away from poles, and from overflow.
TABLE = """
abs           =           =           Abs         =         =
arccos        acos        =           Acos        =         =           -0.9..0.9  15
arccosh       acosh       =           Acosh       =         =           1.1..3.0   15
arcsin        asin        =           Asin        =         =           -0.9..0.9  15
arcsinh       asinh       =           Asinh       =         =           normal     15
arctan        atan        =           Atan        =         =           normal     15
arctanh       atanh       =           Atanh       =         =           -0.9..0.9  15
cbrt          -           =           -           =         =           positive   15
rcbrt         -           -           -           =         -           positive   15
cos           =           =           Cos         =         =           normal     15
cosh          =           =           Cosh        =         =           normal     15
degrees       rad2deg     =           -           =         =
radians       deg2rad     =           -           =         =
erf           =           lax.erf     Erf         =         -           normal     15
erfc          =           lax.erfc    -           -         -           normal     15
erfinv        =           lax.erf_inv -           =         -           -0.9..0.9  15
exp           =           =           Exp         =         =           normal     15
exp2          =           =           -           -         =           normal     15
expm1         =           =           -           =         =           normal     15
gamma         -           jax.scipy.special.gamma   -  =    -           positive   30
gammaln       lgamma      jax.scipy.special.gammaln -  =    -           2.5..8.0   30
digamma       =           jax.scipy.special.digamma -  -    -           2.5..8.0   30
i0            =           =           -           -         -           normal     30
sinc          =           =           -           -         =           positive   15
identity      clone       copy        Identity    =         copy        normal     0
log           =           =           Log         =         =           positive   15
log10         =           =           -           =         =           positive   15
log1p         =           =           -           =         =           positive   15
log2          =           =           -           =         =           positive   15
logit         =           jax.scipy.special.logit -    -    -           0.1..0.9   17
negative      neg         =           Neg         =         =
reciprocal    =           =           Reciprocal  =         =           positive
relu          =           nn.relu     Relu        =         -
rsqrt         =           lax.rsqrt   -           =         -           positive   2
sigmoid       =           nn.sigmoid  Sigmoid     =         -           normal     15
log_sigmoid   F.logsigmoid nn.log_sigmoid -       -         -           normal     30
sign          =           =           Sign        =         =
sgn           =           sign        -           -         sign
sin           =           =           Sin         =         =           normal     15
sinh          =           =           Sinh        =         =           normal     15
softsign      F.softsign  nn.soft_sign Softsign   =         -           normal     3
sqrt          =           =           Sqrt        =         =           positive
square        =           =           -           =         =
tan           =           =           Tan         =         =           -1.0..1.0  15
tanh          =           =           Tanh        =         =           normal     15
stop_gradient detach      lax.stop_gradient -     BlockGrad -           normal     0
frac          =           -           -           -         -
nan_to_num    =           =           -           -         =
isnan         =           =           IsNaN       nd.contrib.isnan =
isinf         =           =           IsInf       nd.contrib.isinf =
isfinite      =           =           -           nd.contrib.isfinite =
signbit       =           =           -           -         =
bitwise_not   =           =           BitwiseNot  -         =           0:100
"""

#: What they take besides floats, by the names above.
TAKEN = {
    ANALYTIC: "arccos arccosh arcsin arcsinh arctan arctanh cos cosh exp exp2 expm1 sinc log log10 "
    "log1p log2 reciprocal rsqrt sigmoid sin sinh sqrt tan tanh isnan isinf isfinite",
    ANY: "relu sign",
    NUMBERS: "abs negative square sgn",
    ALL: "identity stop_gradient",
}
DTYPES = {name: dtypes for dtypes, names in TAKEN.items() for name in names.split()}

#: Of operators that are names of another in all but one framework.
ARGMAX, PLAIN_CAST, SIGN = (f"the same call as {name}" for name in ("argmax", "cast", "sign"))
TEST: dict[str, Any] = {"grad": False, "result_dtype": "bool"}
MORE: dict[str, dict[str, Any]] = {
    "erfinv": {"tolerance": 4.0},
    "digamma": {"tolerance": 8.0},
    "gammaln": {"tolerance": 4.0},
    "i0": {"tolerance": 8.0},
    "negative": {"aliases": ("neg",)},
    "stop_gradient": {"grad": False, "aliases": ("detach",)},
    "identity": {"aliases": ("clone",)},
    "isnan": TEST,
    "isinf": TEST,
    "isfinite": TEST,
    "signbit": TEST,
    "sgn": {
        "jax": Call("jnp.sign(data)", note=SIGN),
        "numpy": Call("np.sign(data)", note=SIGN),
    },
    "bitwise_not": {"grad": False, "dtypes": ("int32", "int64", "int8")},
}  # fmt: skip


def element_wise(name: str, domain: Domain, **more: Any) -> Operator:
    return unary(name, "unary", domain, **{"dtypes": DTYPES.get(name, FLOATS), **more})


CAST = partial(unary, category="unary", to=DType("float16"), result_dtype="float16",
    needs={f"to in {ANALYTIC}": BACKWARD, "to not in ('bfloat16', 'float8_e4m3fn')": "numpy",
        "to not in ('complex64', 'float8_e4m3fn')": "onnxruntime"})  # fmt: skip
CASTS: dict[str, Any] = {
    "torch": "data.to({to})",
    "jax": "data.astype({to})",
    "onnx": "Cast(data, to={to})",
    "numpy": "data.astype({to})",
}
SAME_CASTS: dict[str, Any] = {
    framework: Call(text, note=PLAIN_CAST) for framework, text in CASTS.items()
}

OPERATORS = (
    *family(TABLE, "data", element_wise, MORE),
    CAST("cast", mxnet="nd.cast(data, dtype={to})", **CASTS),
    CAST("amp_cast", mxnet="nd.amp_cast(data, dtype={to})", **SAME_CASTS),
    unary("argmax_channel", "unary", grad=False, needs={"data[1] >= 1": ""},
        result=lambda v: v.data[:1], parity="ties",
        result_dtype="int64", flops=lambda v: v.data[0] * v.data[1],
        torch=Call("torch.argmax(data, 1)", note=ARGMAX),
        onnx=Call("ArgMax(data, axis=1, keepdims=0)", note=ARGMAX),
        mxnet="nd.argmax_channel(data)",
        numpy=Call("np.argmax(data, axis=1)", note=ARGMAX),
        jax=Call("jnp.argmax(data, axis=1)", note=ARGMAX)),
    unary("softshrink", "unary", flops=2.0, lambd=0.5, needs={"lambd >= 0": "torch"},
        torch="F.softshrink(data, {lambd})",
        onnx="Shrink(data, lambd={lambd}, bias={lambd})"),
    unary("hardshrink", "unary", flops=2.0, lambd=0.5, torch="F.hardshrink(data, {lambd})",
        onnx="Shrink(data, lambd={lambd})"),
    unary("threshold", "unary", flops=1.0, threshold=0.5, value=0.0,
        torch="F.threshold(data, {threshold}, {value})",
        jax=Call("jnp.where(data > {threshold}, data, {value})", emulated=True)),
)  # fmt: skip
