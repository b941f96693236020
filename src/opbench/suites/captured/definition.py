"""Captured calls as definitions: each unique call, and the step as a whole.

Axes on top of what was captured: `replay` (hot, cold, or in order), `dtype`, `runtime`, `layout`,
and every axis that the capture was probed along. An axis left as captured is not a label.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from opbench import frameworks
from opbench.capture.calls import Capture, OperatorCall
from opbench.case import Case, Label, Parity
from opbench.define.definition import Axis, Context, Definition, Point
from opbench.define.program import lines
from opbench.errors import UserError
from opbench.suites.captured import in_order, makers, runtimes, scale
from opbench.suites.captured.findings.work import work_of
from opbench.suites.captured.operator_source import (
    CallSource,
    cold,
    hot,
    source_of,
    with_dtype,
    with_layout,
)

#: An axis at this value is as it was captured.
CAPTURED = "captured"

#: Name of the benchmark that runs the whole step.
IN_ORDER = "in_order"
#: It takes as long as all calls together, and gets so much more time than one of them. A call gets
#: more by its share of the step, this if it were all of it.
STEP_TIME_FACTOR, CALL_TIME_FACTOR = 20.0, 60.0

DTYPES = ("float32", "float16", "bfloat16", "float64")
LAYOUTS = ("contiguous", "channels_last")

#: Namespaces of torch's own operators that are registered only when a module is imported.
REGISTERED_BY = {"fsdp": "torch.distributed.fsdp"}

OWN_FOLDER = "import sys\n\nsys.path.insert(0, {folder!r})\n"

#: The results of these are not to be compared: they are drawn at random, or not computed at all.
UNCOMPARED = ("rand", "normal", "bernoulli", "dropout", "uniform", "multinomial", "exponential",
              "empty", "resize", "new_empty", "_fused_sdp_choice", "random")  # fmt: skip


@dataclass(frozen=True)
class CapturedDefinition(Definition):
    """What both kinds share: axes that are labels only where a value was chosen."""

    capture: Capture = field(default_factory=lambda: Capture(()))
    #: Modules that register operators of their own.
    imports: tuple[str, ...] = ()

    def points(self, grid: Mapping[str, Sequence[Label]]) -> Iterator[Point]:
        silent = {
            name
            for name, axis in self.axes.items()
            if tuple(grid.get(name, ())) == axis.values and len(axis.values) == 1
        }
        for values in product(*grid.values()):
            point = dict(zip(grid, values))
            yield {name: value for name, value in point.items() if name not in silent}

    def framework_at(self, point: Point) -> Label:
        return runtimes.FRAMEWORK.get(str(point.get("runtime")), "torch")

    def sizes_at(self, point: Point) -> dict[str, int]:
        """The sizes of the probed axes at this point; empty where they are the captured ones."""
        base = {a: size for a, size in self.capture.sizes.items() if a in self.capture.probes}
        chosen = {axis: int(point.get(axis) or size) for axis, size in base.items()}
        return chosen if chosen != base else {}

    def operators(self) -> Iterator[str]:
        """Names of the operators that are called."""
        return (call.operator for call in self.capture.calls)

    def case_of(self, point: Point, context: Context, **parts: Any) -> Case:
        spaces = {name.partition("::")[0] for name in self.operators()}
        for space in sorted(spaces & REGISTERED_BY.keys()):
            parts["globals"] = f"import {REGISTERED_BY[space]}\n{parts['globals']}"
        if self.imports:
            wanted = "".join(f"import {module}\n" for module in self.imports)
            # A child has the folder of the person who started it on its path.
            parts["globals"] = f"{OWN_FOLDER.format(folder=os.getcwd())}{wanted}{parts['globals']}"
        if not parts.pop("own_threads", False):
            parts["setup"] = lines(
                f"torch.set_num_threads({context.threads})",
                "torch.manual_seed(seed)",
                parts["setup"],
            )
        parts.setdefault("timing_mode", "each" if parts.get("before") else "repeatable")
        if sync := frameworks.get("torch").sync(context.device):
            parts.setdefault("sync", sync)
        parts.setdefault("framework", "torch")
        parts.setdefault("preload", ("torch",))
        return Case(
            suite=self.suite,
            name=self.name,
            stage="call",
            labels=tuple(point.items()),
            device=context.device,
            threads=context.threads,
            seed=context.seed,
            **parts,
        )


@dataclass(frozen=True)
class CapturedCall(CapturedDefinition):
    """One unique call of a capture."""

    call: OperatorCall = field(kw_only=True)

    def operators(self) -> Iterator[str]:
        return iter((self.call.operator,))

    def cases(self, point: Point, context: Context) -> Iterator[Case]:
        if context.stages and "call" not in context.stages:
            return
        call, unsupported = self.call_at(point)
        runtime = str(point.get("runtime") or self.usual_runtime)
        replay = str(point.get("replay") or "hot")
        text = source_of(call, context.device, self.capture.device)
        setup, before, stmt = (cold if replay == "cold" else hot)(call, text)
        if text.on_host:
            setup = lines(ON_HOST, setup)
        globals_ = makers.CALL
        if call.compiled:
            globals_ = f"import json\n{makers.CALL}\n\n{makers.COMPILED}"
        if replay == "cold":
            globals_ = f"import itertools\n{globals_}"
        if self.sizes_at(point) and call.outputs and not unsupported:
            expected = [tuple(output.shape) for output in call.outputs]
            globals_ = f"{globals_}\n\n{makers.ON_META}"
            if replay != "cold":
                check = f"check_shapes(op, {text.args}, {text.kwargs}, {expected!r})"
                setup = lines(setup, check)
        parts: dict[str, Any] = {
            "stmt": stmt,
            "setup": setup,
            "before": before,
            "globals": globals_,
            "runtime": runtime,
            "dtype": next((tensor.dtype for tensor in call.tensors if tensor.floating), ""),
            "unsupported": unsupported,
            "work": work_of(call),
            "components": tuple((name, name) for name in text.names) if replay == "hot" else (),
        }
        if replay == "hot" and not unsupported:
            parts["parity"] = self.parity_of(point, call, text)
            parts["globals"] = f"{globals_}\n\n{RESULTS}"
        if call.compiled and not unsupported:
            parts.update(runtimes.compiled_region(runtime, parts, context))
        elif runtime != "eager" and not unsupported:
            parts.update(runtimes.spelled(runtime, call, text, parts, context))
        yield self.case_of(point, context, **parts)

    @property
    def usual_runtime(self) -> str:
        """How the call ran when it was captured."""
        return "compile" if self.call.compiled else "eager"

    def framework_at(self, point: Point) -> Label:
        return runtimes.FRAMEWORK.get(str(point.get("runtime") or self.usual_runtime), "torch")

    def call_at(self, point: Point) -> tuple[OperatorCall, str]:
        """The call in the sizes, dtype and layout of a point; and why it cannot run, if so."""
        call, sizes, unsupported = self.call, self.sizes_at(point), self.call.obstacle
        if sizes:
            try:
                call = scale.at(call, self.capture, sizes)
            except scale.Unpredictable as error:
                unsupported = str(error)
        dtype = str(point.get("dtype") or CAPTURED)
        layout = str(point.get("layout") or CAPTURED)
        if call.compiled and (sizes or dtype != CAPTURED or layout != CAPTURED):
            return call, "the graph of a compiled region is that of its captured sizes and dtypes"
        if dtype != CAPTURED:
            call = with_dtype(call, dtype)
        if layout != CAPTURED:
            call = with_layout(call, layout)
        return call, unsupported

    def parity_of(self, point: Point, call: OperatorCall, text: CallSource) -> Parity:
        """The result after one call. Same key, same computation: whatever runs or holds it."""
        others = {k: v for k, v in point.items() if k not in ("runtime", "dtype", "layout")}
        key = f"{self.suite}/{self.name}" + "".join(f",{k}={v}" for k, v in others.items())
        base = call.operator.partition("::")[2].lstrip("_")
        random = base.startswith(UNCOMPARED) or "dropout" in base
        outputs = tuple((name, name) for name in text.written)
        runtime = str(point.get("runtime") or self.usual_runtime)
        dtype, layout = (point.get(axis, CAPTURED) != CAPTURED for axis in ("dtype", "layout"))
        first = runtime == "eager" and not dtype and not layout
        return Parity(
            key=key,
            inputs=tuple(text.names) if first else tuple(fillable(call, text.names)),
            outputs=outputs or (("result", f"results({text.expression})"),),
            compare="shape" if random else "values",
            rank=100 * dtype + 10 * layout + runtimes.RANK[runtime],
        )


#: Some calls of a step on a GPU stay on the host (an optimizer's counters, empty tensors). They did
#: so when they were captured, so it is no mistake that a child would have to refuse.
ON_HOST = "opbench_on_host = True"

#: What is compared of a result: its tensors, without the gaps of what was not asked for.
RESULTS = """\
def results(found):
    if isinstance(found, (list, tuple)):
        return [each for each in found if each is not None]
    return [found]
"""


@dataclass(frozen=True)
class CapturedStep(CapturedDefinition):
    """The captured calls in their order, the whole step or one phase of it."""

    def cases(self, point: Point, context: Context) -> Iterator[Case]:
        if context.stages and "call" not in context.stages:
            return
        phase = str(point.get("phase") or "step")
        capture, sizes, unsupported = self.capture, self.sizes_at(point), ""
        if sizes:
            try:
                capture = scale.capture_at(capture, sizes)
            except scale.Unpredictable as error:
                unsupported = str(error)
        plan = in_order.plan(capture, "" if phase == "step" else phase)
        yield self.case_of(
            point,
            context,
            stmt="for op, args, kwargs, place in calls:\n    results[place] = op(*args, **kwargs)",
            setup=lines(
                f"plan = json.loads({plan!r})",
                "calls, written, results, moved, opbench_left_out = "
                f"program(plan, {context.device!r})",
            ),
            before=lines(
                "results[:] = [None] * len(results)",
                "for view, form in moved:\n    view.set_(*form)",
                "for flat, value in written:\n    flat.copy_(value)",
            ),
            globals=makers.PINNED_STEP if '"pinned":' in plan else makers.STEP,
            unsupported=unsupported,
        )


def definitions(capture: Capture) -> list[Definition]:
    """Every unique call, then the step in order."""
    scales = {
        axis: Axis((capture.sizes[axis],), open=True)
        for axis in capture.sizes
        if axis in capture.probes
    }
    listed: list[Definition] = []
    for call in capture.calls:
        axes = {
            "replay": Axis(("hot",), choices=("hot", "cold")),
            "dtype": Axis((CAPTURED,), choices=(CAPTURED, *DTYPES)),
            "runtime": Axis(("compile",), choices=("compile", "eager"))
            if call.compiled
            else Axis(("eager",), choices=tuple(runtimes.RANK)),
            "layout": Axis((CAPTURED,), choices=(CAPTURED, *LAYOUTS)),
            **scales,
        }
        listed.append(
            CapturedCall(
                capture.name, call.name, axes=axes, framework="torch", stages=("call",),
                capture=capture, call=call, origin=f"{capture.name} call {call.index}",
            )
        )  # fmt: skip
    if capture.order:
        axes = {
            "replay": Axis(("order",)),
            "phase": Axis(("step", *phases_in_order(capture))),
            **scales,
        }
        listed.append(
            CapturedStep(
                capture.name, IN_ORDER, axes=axes, framework="torch", stages=("call",),
                capture=capture, origin=f"{capture.name} in order",
            )
        )  # fmt: skip
    return listed


def importing(definitions: Sequence[Definition], modules: Sequence[str]) -> list[Definition]:
    """The captured calls with these modules imported before they are replayed."""
    for module in modules:
        if not all(part.isidentifier() for part in module.split(".")):
            raise UserError(f"--import takes the name of a module, such as my_ops, not '{module}'")
    return [
        replace(d, imports=tuple(modules)) if isinstance(d, CapturedDefinition) else d
        for d in definitions
    ]


def costliest(definitions: Sequence[Definition], share: float) -> list[Definition]:
    """The captured calls that make up this share of the captured time; everything else stays."""
    calls = {d.call.index: d.call for d in definitions if isinstance(d, CapturedCall)}
    total = sum(call.time for call in calls.values())
    if not calls:
        raise UserError("--top chooses among captured calls: opbench run FILE.jsonl --top 95%")
    if not total:
        raise UserError("--top needs times, but this capture has none; capture with --timing")
    chosen, spent = set(), 0.0
    for call in sorted(calls.values(), key=lambda call: -call.time):
        if spent >= share * total:
            break
        chosen.add(call.index)
        spent += call.time
    return [d for d in definitions if not isinstance(d, CapturedCall) or d.call.index in chosen]


def time_factors(definitions: Sequence[Definition]) -> dict[tuple[str, str], float]:
    """How much more time than others a step gets, and the calls that take much of it: they are most
    of its sum, and the costliest of a model was measured by a single block."""
    calls = [d for d in definitions if isinstance(d, CapturedCall)]
    total = sum(d.call.time for d in calls)
    found = {(d.suite, d.name): STEP_TIME_FACTOR for d in definitions if d.name == IN_ORDER}
    for each in calls if total > 0 else ():
        share = min(1.0, each.call.time / total)  # a file may say anything
        found[(each.suite, each.name)] = max(1.0, CALL_TIME_FACTOR * share)
    return found


def phases_in_order(capture: Capture) -> tuple[str, ...]:
    seen = {step.phase for step in capture.order}
    return tuple(phase for phase in capture.phases if phase in seen)


def fillable(call: OperatorCall, names: Sequence[str]) -> Iterator[str]:
    """Tensors without overlapping elements: the others cannot be written to, and the seed gives
    them the same values anyway."""
    for name, tensor in zip(names, call.tensors):
        if all(step or size == 1 for size, step in zip(tensor.shape, tensor.steps)):
            yield name
