"""The Python function behind an operator: `torch.conv2d` behind `aten::convolution`."""

from __future__ import annotations

from typing import Any

from torch.overrides import TorchFunctionMode, resolve_name

from opbench.capture.phases import Phases

_names: dict[Any, str] = {}


class ApiNames(TorchFunctionMode):
    def __init__(self, phases: Phases) -> None:
        super().__init__()
        self.phases = phases

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        phases = self.phases
        if phases.api:  # `linear` calls `addmm`: the function the person wrote is the outer one
            return func(*args, **kwargs) if kwargs else func(*args)
        phases.api = name_of(func)
        try:
            return func(*args, **kwargs) if kwargs else func(*args)
        finally:
            phases.api = ""


def name_of(func: Any) -> str:
    try:
        found = _names.get(func)
    except TypeError:  # not hashable
        return str(getattr(func, "__name__", ""))
    if found is None:
        try:
            found = resolve_name(func) or ""
        except Exception:  # a function torch has never heard of
            found = ""
        found = _names[func] = found or str(getattr(func, "__name__", "")) or ""
    return found
