"""The Python function behind an operator: `torch.conv2d` behind `aten::convolution`."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import torch
from torch.compiler import is_compiling
from torch.overrides import resolve_name

from opbench.capture.api.unseen import UnseenMode
from opbench.capture.operators.phases import Phases

#: By function and `__name__`: to Python `torch.mm` equals `torch.spmm`, which one function serves.
_names: dict[tuple[Any, str], str] = {}


class FunctionNames(UnseenMode):
    """Keeps the name of the outermost torch function that is running in `phases.api`."""

    def __init__(self, phases: Phases) -> None:
        super().__init__()
        self.phases = phases
        # torch makes its table when it is first asked, which takes longer than a small step.
        registered_name(torch.neg)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        phases = self.phases
        # `linear` calls `addmm`: the function the person wrote is the outer one.
        if is_compiling() or phases.api:
            return func(*args, **kwargs) if kwargs else func(*args)
        entered = perf_counter()
        phases.api = registered_name(func) or str(getattr(func, "__name__", ""))
        phases.name(phases.now, perf_counter() - entered)
        try:
            return func(*args, **kwargs) if kwargs else func(*args)
        finally:
            phases.api = ""


def registered_name(func: Any) -> str:
    """As torch's own table of overridable functions spells it: `torch.nn.functional.relu`; empty
    for a function that is not in it."""
    name = str(getattr(func, "__name__", ""))
    try:
        found = _names.get((func, name))
    except TypeError:  # not hashable
        return ""
    if found is None:
        try:
            found = str(resolve_name(func) or "")
        except Exception:  # a function torch has never heard of
            found = ""
        if not found.endswith(f".{name}") and getattr(torch, name, None) == func:
            found = f"torch.{name}"
        _names[func, name] = found
    return found
