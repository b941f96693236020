"""The operator catalogue: one entry per operator, in a file for each category, in a few rooms.

`catalogue()["add"]` is an `Operator`; `find("Add")` gives it by any of its names.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

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


@cache
def _names() -> dict[str, Operator]:
    known: dict[str, Operator] = {}
    for operator in catalogue().values():
        for name in (operator.name, operator.classic, *operator.aliases):
            known.setdefault(name.lower(), operator)
    return known


def find(name: str) -> Operator | None:
    """The operator of that name or alias, capitals or not."""
    return _names().get(name.lower())
