"""A second setting of every option of every operator, at the size `small`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opbench.suites.ops.catalogue import catalogue
from opbench.suites.ops.entry import DType, Operator

#: Where one more, or half as much, is not valid or changes too little to be seen.
SECOND = {
    "axis": 0, "dim": 0, "dim1": 1, "dim2": 1, "num_outputs": 2, "block_size": 1, "num_groups": 2,
    "groups": 2, "heads": 4, "to": DType("float64"), "low": -900, "high": 50, "eps": 0.1,
    "epsilon": 0.1, "lr": 0.5, "nsize": 3, "activation": "tanh", "value": 0.25, "mode": "sum",
    "reduce": "sum", "chunks": 3, "bins": 10, "p": 1.0,
}  # fmt: skip
#: The same for one operator; other parameters may have to follow.
OF_ONE: dict[tuple[str, str], dict[str, Any]] = {
    ("channel_shuffle", "groups"): {"groups": 4},
    ("LRN", "alpha"): {"alpha": 0.5},
    ("topk", "k"): {"k": 3},
    # Builds of MXNet with oneDNN know no float64 here.
    ("amp_cast", "to"): {"to": DType("float32")},
    ("Dropout", "p"): {"p": 0.9},
    ("repeat", "axis"): {"axis": 1},
    ("expand_dims", "axis"): {"axis": 1},
    ("roll", "axis"): {"axis": 1},
    ("stack", "axis"): {"axis": 1},
    ("slice_axis", "axis"): {"axis": 1},
    ("squeeze", "axis"): {"data": (64, 1, 32), "axis": 1},
    ("reshape", "shape"): {"shape": (32, 128)},
    ("broadcast_to", "shape"): {"shape": (65, 64)},
}


def options() -> Iterator[tuple[Operator, str]]:
    """Every parameter that is not the shape of an input."""
    for operator in catalogue().values():
        shapes = {each.name for each in operator.inputs if each.shape is None}
        for name in operator.params:
            if name not in shapes:
                yield operator, name


def second(operator: Operator, name: str) -> dict[str, Any]:
    """Another setting of the option, with what has to follow it."""
    if (operator.name, name) in OF_ONE:
        return OF_ONE[operator.name, name]
    size = "small" if "small" in operator.sizes else "typical"
    value = getattr(operator.values(size), name)
    return {name: SECOND[name] if name in SECOND else another(value)}


def another(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(each + 1 for each in value)
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else value / 2
