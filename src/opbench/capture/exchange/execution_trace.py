"""Reads PyTorch's ExecutionTrace, the JSON of Chakra: `torch.profiler.ExecutionTraceObserver`.

The outermost operators are taken; what they call in turn is their own business.
"""

from __future__ import annotations

import re
from typing import Any

from opbench.capture.calls import Capture
from opbench.capture.exchange.traced import (
    NotInTrace,
    Traced,
    Wrong,
    parsed,
    tensor_spec,
)
from opbench.capture.values import TensorSpec, TorchConstant, contiguous

#: torch's numbers for its constants.
SCALAR_TYPES = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32",
    7: "float64", 9: "complex64", 10: "complex128", 11: "bool", 15: "bfloat16",
}  # fmt: skip
MEMORY_FORMATS = {
    0: "contiguous_format", 1: "preserve_format", 2: "channels_last", 3: "channels_last_3d",
}  # fmt: skip
TENSOR = re.compile(r"Tensor\((.*)\)")


def is_execution_trace(content: Any) -> bool:
    return isinstance(content, dict) and "chakra" in str(content.get("schema", ""))


def read_execution_trace(content: dict[str, Any], name: str, source: str) -> Capture:
    traced, devices = Traced(source), dict[str, int]()
    nodes = {n["id"]: n for n in content.get("nodes", []) if isinstance(n, dict) and "id" in n}
    for node in nodes.values():
        schema = attribute(node, "op_schema")
        if not schema or has_operator_above(node, nodes):
            continue
        try:
            found = Arguments()
            form = parsed(schema)
            inputs = node["inputs"]
            given = [
                found.value(value, shape, kind, steps, wanted)
                for value, shape, kind, steps, wanted in zip(
                    inputs["values"], inputs["shapes"], inputs["types"],
                    inputs.get("strides") or [[] for _ in inputs["values"]], form.types,
                )
            ]  # fmt: skip
            made = Arguments()
            outputs = node.get("outputs") or {"values": [], "shapes": [], "types": []}
            results = [
                made.value(value, shape, kind, [], "")
                for value, shape, kind in zip(
                    outputs["values"], outputs["shapes"], outputs["types"]
                )
            ]
            specs = tuple(r for r in results if isinstance(r, TensorSpec) and not form.writes)
            traced.add(form, given, tuple(found.storages), tuple(made.storages),
                       phase_of(node, nodes), outputs=specs)  # fmt: skip
            for device in found.devices:
                devices[device] = devices.get(device, 0) + 1
        except (NotInTrace, Wrong, KeyError, TypeError, ValueError) as error:
            traced.skip(str(node.get("name"))[:100], str(error)[:200] or type(error).__name__)
    return traced.capture(name, max(devices, key=lambda d: devices[d], default="cpu"))


def attribute(node: dict[str, Any], name: str) -> str:
    for each in node.get("attrs") or []:
        if isinstance(each, dict) and each.get("name") == name:
            return str(each.get("value") or "")
    return ""


def above(node: dict[str, Any], nodes: dict[Any, dict[str, Any]]) -> list[dict[str, Any]]:
    """The nodes that called this one, nearest first."""
    found: list[dict[str, Any]] = []
    parent = nodes.get(node.get("ctrl_deps"))
    while parent is not None and parent not in found and parent is not node:
        found.append(parent)
        parent = nodes.get(parent.get("ctrl_deps"))
    return found


def has_operator_above(node: dict[str, Any], nodes: dict[Any, dict[str, Any]]) -> bool:
    return any(attribute(parent, "op_schema") for parent in above(node, nodes))


def phase_of(node: dict[str, Any], nodes: dict[Any, dict[str, Any]]) -> str:
    names = [str(parent.get("name")) for parent in above(node, nodes)]
    if any(name.startswith("autograd::engine") for name in names):
        return "backward"
    return "optimizer" if any(name.startswith("Optimizer.") for name in names) else "forward"


class Arguments:
    """Reads the arguments of one node, and notes the storages of its tensors."""

    def __init__(self) -> None:
        self.storages: list[int] = []
        self.devices: list[str] = []

    def value(self, value: Any, shape: Any, kind: str, steps: Any, wanted: str) -> Any:
        tensor = TENSOR.fullmatch(kind)
        if tensor and "uninitialized" in tensor[1]:
            return None
        if tensor:
            # Its offset counts only where two arguments share memory, which is not kept here.
            storage, device = int(value[1]), str(value[5])
            spec = tensor_spec(tensor[1], shape, steps, device)
            self.storages.append(storage)
            self.devices.append(device)
            if spec.steps == contiguous(spec.shape):
                spec = TensorSpec(spec.dtype, spec.shape, device=device)
            return spec
        if kind.startswith("GenericList"):
            kinds = split_kinds(kind[len("GenericList[") : -1])
            strides = steps or [[] for _ in value]
            return [
                self.value(v, s, k, t, wanted.rstrip("?]["))
                for v, s, k, t in zip(value, shape or [[] for _ in value], kinds, strides)
            ]
        if kind == "None" or value == "<None>":
            return None
        if kind == "Device":
            return TorchConstant("device", str(value))
        if kind in ("Int", "Bool", "Double", "String"):
            return constant(value, wanted)
        raise NotInTrace(f"an argument of the kind {kind[:60]}")


def split_kinds(text: str) -> list[str]:
    """The kinds of a list, at the outermost commas."""
    found, depth, current = [], 0, ""
    for sign in text:
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            found.append(current)
            current = ""
        else:
            current += sign
    return [*found, current] if current else found


def constant(value: Any, wanted: str) -> Any:
    """A number, or the constant of torch that it stands for."""
    wanted = wanted.rstrip("?")
    if wanted == "ScalarType":
        return TorchConstant("dtype", SCALAR_TYPES[value])
    if wanted == "MemoryFormat":
        return TorchConstant("memory_format", MEMORY_FORMATS[value])
    if wanted == "Layout":
        return TorchConstant("layout", "strided")
    return value.strip('"') if isinstance(value, str) else value
