"""Reads the Chrome trace of `torch.profiler`, recorded with `record_shapes=True`.

It names operators without their overload, so torch's registry is asked which form takes such
arguments. Lists of tensors have no dtypes there, and are refused.
"""

from __future__ import annotations

import ast
from typing import Any

from opbench.capture.calls import Capture
from opbench.capture.checks import LARGEST
from opbench.capture.exchange.execution_trace import constant
from opbench.capture.exchange.traced import (
    DTYPES,
    NotInTrace,
    Schema,
    Traced,
    Wrong,
    parsed,
    tensor_spec,
)

#: What reading an argument ends in that nobody's profiler wrote.
UNREADABLE = (KeyError, TypeError, ValueError, SyntaxError, RecursionError, MemoryError)


def is_chrome_trace(content: Any) -> bool:
    return isinstance(content, dict) and isinstance(content.get("traceEvents"), list)


def read_chrome_trace(content: dict[str, Any], name: str, source: str) -> Capture:
    traced = Traced(source)
    for event, phase in outermost(content["traceEvents"]):
        known = event.get("args") or {}
        try:
            if "Input Dims" not in known:
                raise NotInTrace("no shapes: record with record_shapes=True")
            form = schema_for(str(event["name"]), known)
            given = [
                argument(*parts)
                for parts in zip(
                    known["Input type"], known["Input Dims"],
                    known.get("Input Strides") or [[] for _ in known["Input Dims"]],
                    known.get("Concrete Inputs") or ["" for _ in known["Input Dims"]], form.types,
                )
            ]  # fmt: skip
            traced.add(form, given, (), (), phase, float(event.get("dur") or 0.0) * 1e-6)
        except (NotInTrace, Wrong, *UNREADABLE) as error:
            traced.skip(str(event.get("name"))[:100], str(error)[:200] or type(error).__name__)
    return traced.capture(name, "cpu")


def is_timed(event: dict[str, Any]) -> bool:
    return all(
        isinstance(event.get(key), (int, float)) and abs(event[key]) < LARGEST
        for key in ("ts", "dur")
    )


def outermost(events: list[Any]) -> list[tuple[dict[str, Any], str]]:
    """Operators that no other operator called, each with its phase."""
    timed = [e for e in events if isinstance(e, dict) and e.get("ph") == "X" and is_timed(e)]
    timed.sort(key=lambda e: (str(e.get("tid")), float(e["ts"]), -float(e["dur"])))
    found, running = [], list[dict[str, Any]]()
    for event in timed:
        while running and not encloses(running[-1], event):
            running.pop()
        operator = event.get("cat") == "cpu_op" and str(event.get("name", "")).count("::") == 1
        names = [str(each.get("name")) for each in running]
        if operator and not any(is_operator(each) for each in running):
            phase = "forward"
            if any(n.startswith("autograd::engine") for n in names):
                phase = "backward"
            elif any(n.startswith("Optimizer.") for n in names):
                phase = "optimizer"
            found.append((event, phase))
        running.append(event)
    return found


def is_operator(event: dict[str, Any]) -> bool:
    name = str(event.get("name", ""))
    return event.get("cat") == "cpu_op" and name.count("::") == 1


def encloses(outer: dict[str, Any], inner: dict[str, Any]) -> bool:
    ends = float(outer["ts"]) + float(outer["dur"])
    return outer.get("tid") == inner.get("tid") and float(inner["ts"]) < ends


def schema_for(name: str, known: dict[str, Any]) -> Schema:
    """The first form of an operator that takes as many arguments, with tensors where they are."""
    import torch

    kinds = known["Input type"]
    forms = [parsed(str(s)) for s in torch._C._jit_get_schemas_for_operator(name)]
    for form in forms:
        if len(form.names) == len(kinds) and all(map(fits, kinds, form.types)):
            return form
    raise NotInTrace(f"torch has no form of {name} for these arguments")


def fits(kind: str, wanted: str) -> bool:
    is_tensor = kind in DTYPES
    if kind in ("", "None"):
        return "?" in wanted
    if kind == "TensorList":
        return wanted.startswith("Tensor") and "[]" in wanted
    return is_tensor == (wanted.startswith("Tensor") and "[]" not in wanted)


def argument(kind: str, shape: Any, strides: Any, concrete: str, wanted: str) -> Any:
    if kind in DTYPES:
        return tensor_spec(kind, shape, strides, "cpu")
    if kind == "TensorList":
        raise NotInTrace("a list of tensors, whose dtypes such a trace does not have")
    if concrete in ("", "None"):
        return None
    if wanted.startswith(("str", "Device")):
        return constant(concrete, wanted)
    return constant(ast.literal_eval(concrete), wanted)
