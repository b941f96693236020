"""Arguments of a running program as `values`: shapes and settings, never an object itself."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from opbench.capture.checks import LARGEST, LONGEST_TEXT, Wrong
from opbench.capture.codec import API
from opbench.capture.values import (
    Arguments,
    GroupSpec,
    ModuleSpec,
    Opaque,
    StorageSpec,
    TensorSpec,
    TorchConstant,
    contiguous,
)

#: What a constructor was called with, kept in the module itself so that copies of it have it too;
#: as JSON, so that a saved model needs no opbench to be loaded.
INIT = "_opbench_init"
LONGEST_NAME = 200
LONGEST_LIST = 1000
DEEPEST = 8

#: Has no one shape.
NESTED = Opaque("nested tensor")
CONSTANTS = {torch.dtype: "dtype", torch.layout: "layout", torch.memory_format: "memory_format"}


def describe(value: Any, ranges: bool = False, depth: int = 0) -> Any:
    """The value as plain data; with `ranges`, integers in a tensor by their range."""
    if value is None or isinstance(value, (bool, float, complex)) or value is ...:
        return value
    if isinstance(value, int):
        return int(value) if abs(value) <= LARGEST * 2 else Opaque("integer of more than 64 bits")
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT else Opaque(f"text of {len(value)} characters")
    if isinstance(value, torch.Tensor):
        return NESTED if value.is_nested else describe_tensor(value, value.requires_grad, ranges)
    if type(value) in CONSTANTS:
        return TorchConstant(CONSTANTS[type(value)], name_of(value))
    if isinstance(value, torch.device):
        return TorchConstant("device", str(value))
    if isinstance(value, torch.Generator):
        return TorchConstant("generator", value.device.type)
    if isinstance(value, (GroupSpec, Opaque, StorageSpec, TorchConstant)):
        return value
    if isinstance(value, (torch.UntypedStorage, torch.TypedStorage)):
        return StorageSpec(value.nbytes())
    if isinstance(value, slice):
        return slice(*(describe(e, False, DEEPEST) for e in (value.start, value.stop, value.step)))
    if depth < DEEPEST:
        return describe_container(value, ranges, depth + 1)
    return Opaque(type_name(value))


def describe_container(value: Any, ranges: bool, depth: int) -> Any:
    if isinstance(value, (list, tuple)) and len(value) <= LONGEST_LIST:
        parts = [describe(part, ranges, depth) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict) and len(value) <= LONGEST_LIST:
        return {str(k)[:LONGEST_NAME]: describe(v, ranges, depth) for k, v in value.items()}
    if isinstance(value, torch.nn.Module):
        try:
            init = API.decode_arguments(constructor(value, depth)[0])
        except Wrong:  # a keyword that no file may hold
            return Opaque(type_name(value))
        return ModuleSpec(type_name(value), init)
    return Opaque(type_name(value))


def describe_arguments(args: Any, kwargs: Any, ranges: bool = False, depth: int = 0) -> Arguments:
    return Arguments(
        tuple(describe(value, ranges, depth) for value in args),
        {name: describe(value, ranges, depth) for name, value in kwargs.items()},
    )


def describe_tensor(tensor: torch.Tensor, grad: bool = False, ranges: bool = False) -> TensorSpec:
    strided = tensor.layout is torch.strided
    shape = tuple(int(size) for size in tensor.shape)
    strides = tuple(int(step) for step in tensor.stride()) if strided else None
    return TensorSpec(
        name_of(tensor.dtype),
        shape,
        strides=None if strides == contiguous(shape) else strides,
        device=str(tensor.device),
        values=range_of(tensor) if ranges and strided else None,
        grad=grad,
        layout="" if strided else name_of(tensor.layout),
        pinned=is_pinned(tensor),
    )


def is_pinned(tensor: torch.Tensor) -> bool:
    """Whether it lies in page-locked memory; only a program that uses a GPU has such tensors."""
    return tensor.is_cpu and torch.cuda.is_initialized() and tensor.is_pinned()


def graph_begun() -> bool:
    """Whether the program captures a CUDA graph. Nothing runs until that is replayed: what it calls
    now is no step, and a copy, or a wait for the GPU, would spoil the graph."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


def range_of(tensor: torch.Tensor) -> dict[str, int] | None:
    """Least and greatest of a tensor of integers; None where there are none to see."""
    whole = not tensor.dtype.is_floating_point and not tensor.dtype.is_complex
    if not whole or tensor.dtype is torch.bool or not tensor.numel() or tensor.is_meta:
        return None
    if graph_begun():
        return None
    return {"lo": int(tensor.min()), "hi": int(tensor.max())}


def name_of(constant: Any) -> str:
    """`float32` of `torch.float32`."""
    return str(constant).rpartition(".")[2]


def type_name(value: Any) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"[:LONGEST_NAME]


def constructor(module: Any, depth: int = 0) -> tuple[dict[str, Any], str]:
    """What a module was created with, as JSON, and how that is known: seen, or from attributes."""
    seen = module.__dict__.get(INIT)
    if isinstance(seen, dict):
        return seen, "constructor"
    return API.encode_arguments(from_attributes(module, depth + 1)), "attributes"


def from_attributes(module: Any, depth: int) -> Arguments:
    """For a module created before recording began: its parameters are mostly attributes of the same
    name; a `bias` that is a tensor, or missing, was asked for or not."""
    if isinstance(module, torch.nn.ModuleList):
        return Arguments(([describe(child, False, depth) for child in module],))
    if isinstance(module, torch.nn.Sequential):
        return Arguments(tuple(describe(child, False, depth) for child in module))
    try:
        parameters = list(inspect.signature(type(module).__init__).parameters.values())[1:]
    except (TypeError, ValueError):
        return Arguments()
    found = {}
    for parameter in parameters:
        name = parameter.name
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if name in ("device", "dtype") or not hasattr(module, name):
            continue
        value = getattr(module, name)
        if name == "bias" and (value is None or isinstance(value, torch.Tensor)):
            value = value is not None
        function = callable(value) and not isinstance(value, torch.nn.Module)
        if not isinstance(value, torch.Tensor) and not function:
            found[name] = describe(value, False, depth)
    return Arguments((), found)
