"""The operator catalogue: one entry per operator, in a file for each category, in a few rooms.

`catalogue()["add"]` is an `Operator`; `find("Add")` gives it by any of its names.
"""

from __future__ import annotations

import pkgutil
import re
from functools import cache
from importlib import import_module

from opbench.errors import UserError, nearest
from opbench.suites.ops.entry import Operator

#: In the order in which they run and are listed.
CATEGORIES = (
    "unary",
    "binary",
    "inplace",
    "comparison",
    "logical",
    "rounding",
    "creation",
    "random",
    "reduction",
    "sort_search",
    "gemm",
    "linalg",
    "rearrange_shape",
    "join_split",
    "indexing",
    "nn_basic",
    "activation",
    "conv_pool",
    "norm",
    "loss",
    "rnn",
    "optimizer",
    "fused",
    "misc",
    "aten",
    "quantized",
    "gluon",
)


@cache
def catalogue() -> dict[str, Operator]:
    """Every operator by name, category by category."""
    here = {
        each.name.rpartition(".")[2]: each.name
        for each in pkgutil.walk_packages(__path__, f"{__name__}.")
    }
    found: dict[str, Operator] = {}
    for category in CATEGORIES:
        for operator in import_module(here[category]).OPERATORS:
            if operator.name in found:
                raise ValueError(f"two operators are called {operator.name}")
            found[operator.name] = operator
    return found


#: `layer_norm` of `F.layer_norm(data, …)`, `det` of `torch.linalg.det(data)`.
FUNCTION = re.compile(r"\b(?:torch|F)\.(?:\w+\.)*(\w+)\(")


def _own_names(operator: Operator) -> tuple[str, ...]:
    return (operator.name, operator.classic or operator.name, *operator.aliases)


def _name_in_torch(operator: Operator) -> list[str]:
    """The function of torch that it is, if it is a single one."""
    call = operator.call("torch")
    if call is None or call.emulated:
        return []
    text = call.text if isinstance(call.text, str) else call.text(operator.values())
    called = FUNCTION.findall(text) if ".aten." not in text else []
    return called if len(called) == 1 else []


@cache
def _names() -> dict[str, Operator]:
    """Own names first: where two are the same function of torch, the first in the catalogue has
    its name."""
    known: dict[str, Operator] = {}
    for names in (_own_names, _name_in_torch):
        for operator in catalogue().values():
            for name in names(operator):
                known.setdefault(name.lower(), operator)
    return known


def names_of(operator: Operator) -> tuple[str, ...]:
    """Everything that it is called."""
    torch = [name for name in _name_in_torch(operator) if find(name) is operator]
    return tuple(dict.fromkeys((*_own_names(operator), *torch)))


def find(name: str) -> Operator | None:
    """The operator of that name, alias or function of torch, capitals or not."""
    return _names().get(name.lower())


def named(name: str) -> Operator:
    """The same, of what a person wrote."""
    operator = find(name)
    if operator is None:
        near = nearest(name, catalogue()) or "; opbench ops lists them"
        raise UserError(f"unknown operator '{name}'{near}")
    return operator
