"""Arguments of Python calls as plain JSON: shapes and settings, never an object itself.

A tensor is `{"tensor": "float32[8,3]"}` with what else matters beside it: `strides` when it is not
contiguous, `device` when not the CPU, `grad` when it takes a gradient, `range` for whole numbers. A
module is its class and its constructor's arguments; anything else of no plain type is its type.
"""

from __future__ import annotations

import math
from typing import Any

#: What a constructor was called with, kept in the module itself so that copies of it have it too.
INIT = "_opbench_init"
LONGEST_TEXT = 200
LONGEST_LIST = 1000
DEEPEST = 8


def described(value: Any, values: bool = True, depth: int = 0) -> Any:
    """The value as JSON; with `values`, whole numbers in a tensor by their range."""
    import torch

    if value is None or isinstance(value, (bool, int)):
        return bool(value) if isinstance(value, bool) else value if value is None else int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    if isinstance(value, torch.Tensor):
        return tensor(value, values)
    plain = _special(value)
    if plain is not None:
        return plain
    if depth >= DEEPEST:
        return {"object": type_name(value)}
    if isinstance(value, (list, tuple)) and len(value) <= LONGEST_LIST:
        parts = [described(part, values, depth + 1) for part in value]
        return parts if isinstance(value, list) else {"tuple": parts}
    if isinstance(value, dict) and len(value) <= LONGEST_LIST:
        pairs = [[str(k)[:LONGEST_TEXT], described(v, values, depth + 1)] for k, v in value.items()]
        return {"dict": pairs}
    if isinstance(value, torch.nn.Module):
        return {"module": type_name(value), "init": constructor(value, depth + 1)[0]}
    return {"object": type_name(value)}


def _special(value: Any) -> dict[str, Any] | None:
    import torch

    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, torch.memory_format):
        return {"memory_format": str(value).removeprefix("torch.")}
    if isinstance(value, torch.layout):
        return {"layout": str(value).removeprefix("torch.")}
    if isinstance(value, slice):
        ends = [described(end, False, DEEPEST) for end in (value.start, value.stop, value.step)]
        return {"slice": ends}
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, complex):
        return {"complex": [str(value.real), str(value.imag)]}
    return None


def tensor(value: Any, values: bool) -> dict[str, Any]:
    shape = ",".join(str(int(size)) for size in value.shape)
    found: dict[str, Any] = {"tensor": f"{str(value.dtype).removeprefix('torch.')}[{shape}]"}
    if str(value.layout) != "torch.strided":
        found["layout"] = str(value.layout).removeprefix("torch.")
    elif not value.is_contiguous():
        found["strides"] = [int(step) for step in value.stride()]
    if value.device.type != "cpu":
        found["device"] = str(value.device)
    if value.requires_grad:
        found["grad"] = True
    return found


def range_of(value: Any) -> list[int] | None:
    """Least and greatest of a tensor of whole numbers; None where there are none to see."""
    import torch

    whole = not value.dtype.is_floating_point and not value.dtype.is_complex
    if not whole or value.dtype == torch.bool or not value.numel() or value.device.type == "meta":
        return None
    if str(value.layout) != "torch.strided":
        return None
    return [int(value.min()), int(value.max())]


def with_ranges(description: Any, value: Any) -> Any:
    """The description with the range of every tensor of whole numbers: read once per signature,
    for asking each time would make a device wait."""
    import torch

    if isinstance(value, torch.Tensor):
        found = range_of(value)
        return description if found is None else {**description, "range": found}
    if isinstance(value, (list, tuple)) and len(value) <= LONGEST_LIST:
        tupled = isinstance(value, tuple)
        parts = description["tuple"] if tupled else description
        if not isinstance(parts, list):
            return description
        done = [with_ranges(part, one) for part, one in zip(parts, value)]
        return {"tuple": done} if tupled else done
    return description


def type_name(value: Any) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"[:LONGEST_TEXT]


def constructor(module: Any, depth: int = 0) -> tuple[dict[str, Any], str]:
    """What a module was made with, and how that is known: seen, or read from its attributes."""
    seen = module.__dict__.get(INIT)
    if isinstance(seen, dict):
        return seen, "constructor"
    return from_attributes(module, depth), "attributes"


def from_attributes(module: Any, depth: int = 0) -> dict[str, Any]:
    """For a module made before recording began: its parameters are mostly attributes of the same
    name; a `bias` that is a tensor, or missing, was asked for or not."""
    import inspect

    import torch

    found = {}
    try:
        parameters = list(inspect.signature(type(module).__init__).parameters.values())[1:]
    except (TypeError, ValueError):
        return {"args": [], "kwargs": {}}
    for parameter in parameters:
        name = parameter.name
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if name in ("device", "dtype") or not hasattr(module, name):
            continue
        value = getattr(module, name)
        if name == "bias" and (value is None or isinstance(value, torch.Tensor)):
            value = value is not None
        if isinstance(value, torch.Tensor) or (callable(value) and not _is_module(value)):
            continue
        found[name] = described(value, False, depth + 1)
    if isinstance(module, (torch.nn.Sequential, torch.nn.ModuleList)):
        children = [described(child, False, depth + 1) for child in module]
        listed = isinstance(module, torch.nn.ModuleList)
        return {"args": [children] if listed else children, "kwargs": {}}
    return {"args": [], "kwargs": found}


def _is_module(value: Any) -> bool:
    import torch

    return isinstance(value, torch.nn.Module)
