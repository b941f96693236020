"""A captured call on another runtime: compiled by torch, or as a node of ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from opbench.capture.calls import OperatorCall
from opbench.capture.values import TensorSpec
from opbench.case import Parity
from opbench.define.definition import Context
from opbench.define.program import NORMAL, Domain, Program, Tensor, integers, lines, uniform
from opbench.suites.captured.onnx import NoCounterpart, spelled_in_onnx
from opbench.suites.captured.operator_source import CallSource

#: Runtime → who is the reference when results are compared: the lowest.
RANK = {"eager": 0, "compile": 1, "onnxruntime": 2}

#: Runtime → the framework that spells it.
FRAMEWORK = {"eager": "torch", "compile": "torch_compile", "onnxruntime": "onnxruntime"}


def spelled(
    runtime: str, call: OperatorCall, text: CallSource, parts: Mapping[str, Any], context: Context
) -> dict[str, Any]:
    """What changes in the parts of the eager case."""
    if runtime == "compile":
        return compiled(text, parts, context)
    return in_onnx(call, parts, context)


def compiled(text: CallSource, parts: Mapping[str, Any], context: Context) -> dict[str, Any]:
    names = ", ".join(text.names)
    call = lines(
        f"def forward({names}):\n    return {text.expression}",
        "call = torch.compile(forward, dynamic=False)",
    )
    expression = f"call({names})"
    changes: dict[str, Any] = {
        "setup": lines(parts["setup"], call),
        "stmt": parts["stmt"].replace(text.expression, expression),
        "framework": context.framework.name,
        "preload": preload_of(context),
    }
    parity: Parity | None = parts.get("parity")
    if parity is not None:
        outputs = tuple((n, e.replace(text.expression, expression)) for n, e in parity.outputs)
        changes["parity"] = replace(parity, outputs=outputs)
    return changes


def compiled_region(runtime: str, parts: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """A region as it was, compiled; or its operators one after the other."""
    if runtime == "eager":
        return {"setup": parts["setup"].replace("compiled_graph(nodes,", "eager_graph(nodes,")}
    return {"framework": context.framework.name, "preload": preload_of(context)}


def preload_of(context: Context) -> tuple[str, ...]:
    """What a worker imports before it is forked, for the framework of this case."""
    framework = context.framework
    program = Program("pass")
    return framework.source("call", program, device=context.device, threads=context.threads).preload


def in_onnx(call: OperatorCall, parts: Mapping[str, Any], context: Context) -> dict[str, Any]:
    tensors = call.tensors
    named = tuple(
        Tensor(f"x{number}", spec.shape, spec.dtype, domain_of(spec))
        for number, spec in enumerate(tensors)
    )
    unsupported, forward = "", "pass"
    try:
        forward = spelled_in_onnx(call)
    except NoCounterpart as error:
        unsupported = str(error)
    for spec in tensors:
        if spec.dtype == "bfloat16":
            unsupported = "ONNX Runtime computes no bfloat16 on a CPU"
    # No single output is named: all that the last line gives is compared.
    program = Program(forward, named, output="", unsupported=unsupported)
    source = context.framework.source(
        "call", program, device=context.device, threads=context.threads
    )
    changes: dict[str, Any] = {
        "stmt": source.stmt,
        "setup": source.setup,
        "globals": source.globals,
        "before": "",
        "timing_mode": source.timing_mode,
        "sync": source.sync,
        "framework": context.framework.name,
        "preload": source.preload,
        "unsupported": unsupported or source.unsupported,
        "components": (),
        "own_threads": True,
    }
    parity: Parity | None = parts.get("parity")
    if parity is not None:
        outputs = (("result", "binding.copy_outputs_to_cpu()"),)
        changes["parity"] = replace(parity, inputs=source.inputs, outputs=outputs)
    return changes


def domain_of(spec: TensorSpec) -> Domain:
    """Values of the same kind, where they are not handed over from the captured call."""
    values = spec.values
    if spec.floating:
        if values and values[0] >= 0:
            return uniform(values[0], max(values[1], values[0] + 1e-3))
        return NORMAL
    if spec.dtype == "bool":
        return integers(0, 2)
    low, high = spec.bounds
    return integers(low, high + 1)
