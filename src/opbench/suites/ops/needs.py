"""What an entry says its parameters have to be: `needs={"0 <= p <= 1": ""}`.

A need is an expression over the parameters, which the message shows as it is. Its value says where
it holds: empty for everywhere, or words: frameworks, and `backward` where forward alone does
without. Every need holds at the parameters of each size class, so these are what would fit.

A framework that is asked for something it cannot do ends in an error of its own, after the inputs
were made, which rarely names the parameter.
"""

from __future__ import annotations

from functools import cache
from math import isqrt, prod
from types import CodeType
from typing import Any

from opbench.suites.ops.entry import Operator, Values

#: The functions of an expression.
FUNCTIONS: dict[str, Any] = {
    "__builtins__": {}, "isqrt": isqrt, "len": len, "max": max, "min": min, "prod": prod,
}  # fmt: skip
BACKWARD = "backward"
#: What compiles the same calls needs the same.
LIKE = {"torch_compile": "torch"}


def unmet(
    operator: Operator, size: str, values: Values, framework: str = "", backward: bool = False
) -> str:
    """The first need that the values do not meet, as the end of a message; empty if there is none.
    Without a framework, those that hold everywhere."""
    for need, where in operator.needs.items():
        if applies(where.split(), framework, backward) and not holds(need, values):
            return message(operator, size, values, need, BACKWARD in where)
    return ""


def applies(words: list[str], framework: str, backward: bool) -> bool:
    places = [word for word in words if word != BACKWARD]
    here = not places or LIKE.get(framework, framework) in places
    return here and (backward or BACKWARD not in words)


def holds(need: str, values: Values) -> bool:
    try:
        return bool(eval(compiled(need), FUNCTIONS, vars(values)))  # the catalogue's own text
    except (IndexError, ValueError, ZeroDivisionError):
        return False  # it asks for a side that the tensor does not have, or divides by none


@cache
def compiled(need: str) -> CodeType:
    return compile(need, "need", "eval")


def parameters(operator: Operator, need: str) -> list[str]:
    """Those that it is about, in its order."""
    used = compiled(need).co_names
    return [name for name in operator.params if name in used]


def message(
    operator: Operator, size: str, values: Values, need: str, in_backward: bool = False
) -> str:
    names = parameters(operator, need)
    given, right = (
        ", ".join(f"{name}={written(getattr(each, name))}" for name in names)
        for each in (values, operator.values(size))
    )
    verb = "does" if len(names) == 1 else "do"
    to_go = " to go backward" if in_backward else ""
    return f"{given} {verb} not fit: it takes {need}{to_go}; {right} would"


def written(value: Any) -> str:
    return "x".join(map(str, value)) or "()" if isinstance(value, tuple) else str(value)
