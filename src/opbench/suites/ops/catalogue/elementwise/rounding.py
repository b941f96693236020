"""Rounding, element by element. Its gradient is zero everywhere, and still computed.

A few of a million values lie half way between two whole numbers, where frameworks differ.
"""

from __future__ import annotations

from typing import Any

from opbench.define.program import Domain
from opbench.suites.ops.entry import Call, Operator
from opbench.suites.ops.families import family
from opbench.suites.ops.shapes import unary

TABLE = """
round   =      =      Round  =  =      -100..100
rint    round  =      Round  =  =      -100..100
fix     =      trunc  -      =  =      -100..100
floor   =      =      Floor  =  =      -100..100
ceil    =      =      Ceil   =  =      -100..100
trunc   =      =      -      =  =      -100..100
"""


def rounding(name: str, domain: Domain, **more: Any) -> Operator:
    return unary(name, "rounding", domain, parity="ties", **more)


MORE: dict[str, dict[str, Any]] = {
    "rint": {
        "torch": Call("torch.round(data)", note="the same call as round"),
        "onnx": Call("Round(data)", note="the same call as round"),
    },
    "fix": {"jax": Call("jnp.trunc(data)", note="the same call as trunc")},
}

OPERATORS = tuple(family(TABLE, "data", rounding, MORE))
