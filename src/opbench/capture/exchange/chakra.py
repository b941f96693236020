"""Writes the captured step as an ExecutionTrace, the JSON that Chakra's tools read."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from math import prod
from typing import Any

from opbench.capture.calls import Capture, OperatorCall, Step
from opbench.capture.exchange.execution_trace import MEMORY_FORMATS, SCALAR_TYPES
from opbench.capture.exchange.traced import DTYPES, parsed
from opbench.capture.values import TensorSpec, TorchConstant, contiguous
from opbench.define.program import ITEM_SIZE

TYPES = {name: kind for kind, name in reversed(DTYPES.items())}
#: torch's numbers for its constants; the one layout that there is here is 0.
NUMBERS = {
    name: number for known in (SCALAR_TYPES, MEMORY_FORMATS) for number, name in known.items()
}
ROOT = 1


def execution_trace(capture: Capture) -> dict[str, Any]:
    """Phases are nodes of their own, and the calls of the step their children, in order."""
    phases = {phase: ROOT + 1 + number for number, phase in enumerate(capture.phases)}
    nodes = [plain_node(ROOT, "[pytorch|profiler|execution_trace|process]", ROOT)]
    nodes += [plain_node(number, phase, ROOT) for phase, number in phases.items()]
    first = ROOT + 1 + len(phases)
    for number, step in enumerate(capture.order, first):
        call = capture.calls[step.call]
        nodes.append(call_node(number, phases[step.phase], call, step, capture.schemas))
    return {"schema": "1.1.1-chakra.0.0.4", "pid": 0, "time": "", "nodes": nodes}


def plain_node(number: int, name: str, parent: int) -> dict[str, Any]:
    empty: dict[str, list[Any]] = {"values": [], "shapes": [], "types": [], "strides": []}
    return {"id": number, "name": name, "ctrl_deps": parent, "inputs": empty, "outputs": empty,
            "attrs": []}  # fmt: skip


def call_node(
    number: int, parent: int, call: OperatorCall, step: Step, schemas: Mapping[str, str]
) -> dict[str, Any]:
    storages = iter(step.reads)
    schema = schemas.get(call.qualified, "")
    given = in_schema_order(call, schema) if schema else list(call.given.values)
    inputs = [described(value, storages) for value in given]
    made = iter((*step.makes, *[0] * len(call.outputs)))
    outputs = [described(value, made) for value in call.outputs]
    node = plain_node(number, call.operator, parent)
    for key, found in (("inputs", inputs), ("outputs", outputs)):
        names = ("values", "shapes", "types", "strides")
        node[key] = {name: [each[i] for each in found] for i, name in enumerate(names)}
    node["attrs"] = [{"name": "op_schema", "type": "string", "value": schema}]
    return node


def in_schema_order(call: OperatorCall, schema: str) -> list[Any]:
    """All arguments, those that were left out with their defaults."""
    form = parsed(schema)
    values = []
    for number, (name, default) in enumerate(zip(form.names, form.defaults)):
        if number < len(call.args):
            values.append(call.args[number])
        else:
            values.append(call.kwargs.get(name, default_of(default)))
    return values


def default_of(text: str) -> Any:
    try:
        return ast.literal_eval(text) if text else None
    except (ValueError, SyntaxError):  # a name, such as `Mean`
        return None


def described(value: Any, storages: Any) -> tuple[Any, Any, str, Any]:
    """(value, shape, type, strides) as an ExecutionTrace spells them."""
    if isinstance(value, TensorSpec):
        storage = next(storages, 0)
        kind = TYPES.get(value.dtype, value.dtype)
        count = prod(value.shape)
        size = ITEM_SIZE.get(value.dtype, 0)
        tensor = [storage, storage, value.offset, count, size, value.device]
        strides = list(value.strides or contiguous(value.shape))
        return tensor, list(value.shape), f"Tensor({kind})", strides
    if isinstance(value, (list, tuple)):
        parts = [described(each, storages) for each in value]
        kinds = ",".join(part[2] for part in parts)
        columns = [[part[i] for part in parts] for i in (0, 1, 3)]
        return columns[0], columns[1], f"GenericList[{kinds}]", columns[2]
    if isinstance(value, TorchConstant) and value.kind == "device":
        return value.name, [], "Device", []
    if isinstance(value, TorchConstant) and value.kind != "generator":
        return NUMBERS.get(value.name, 0), [], "Int", []
    if value is None or isinstance(value, TorchConstant):
        return "<None>", [], "None", []
    names = {bool: "Bool", int: "Int", float: "Double", str: "String"}
    return value, [], names.get(type(value), "String"), []
