"""What was seen so far: unique calls with their counts, and the calls of the last step in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from statistics import median
from typing import Any

from opbench.capture.calls import NOT_THE_MODEL, Capture, OperatorCall, Step
from opbench.capture.checks import Wrong
from opbench.capture.compiled.regions import Region
from opbench.capture.describing import LONGEST_NAME, name_of
from opbench.capture.operators.device_clock import DeviceTimes
from opbench.capture.reading import operator_call
from opbench.capture.snapshots import described_arguments
from opbench.capture.values import Opaque, TensorSpec
from opbench.capture.writing import call_line
from opbench.define.program import ITEM_SIZE

#: Modules and functions named per call; a layer norm of a large model is in hundreds of modules.
MOST_NAMES = 2

#: A loop that never ends must not fill the memory: beyond this the order is not kept.
LONGEST_ORDER = 200_000
#: Visits after which they are entered; a step has fewer, mostly.
MOST_VISITS = 10_000

#: (number of the call, phase, addresses read, addresses created)
Entry = tuple[int, str, tuple[int, ...], tuple[int, ...]]
#: One call as it happened: which, its phase, module and function, seconds (None where they are not
#: its own), addresses read and created.
Visit = tuple["LoggedCall", str, str, str, float | None, tuple[int, ...], tuple[int, ...]]


class LoggedCall:
    """One unique call."""

    __slots__ = (
        "apis", "arguments", "awaited", "awaited_steps", "counts", "func", "index", "modules",
        "outputs", "running", "seconds", "steps",
    )  # fmt: skip

    def __init__(self, index: int, func: Any, arguments: Any) -> None:
        self.index = index
        self.func = func
        #: (args, kwargs) with a `TensorSnapshot` for each tensor.
        self.arguments = arguments
        self.outputs: Any = None
        #: Phase → how often, in the steps that ended, and in the running one.
        self.counts: dict[str, int] = {}
        self.running: dict[str, int] = {}
        #: Phase → seconds in the running step.
        self.seconds: dict[str, float] = {}
        #: The same of each step that ended.
        self.steps: list[dict[str, float]] = []
        #: Both once more, of a collective: until it was complete.
        self.awaited: dict[str, float] = {}
        self.awaited_steps: list[dict[str, float]] = []
        self.modules: dict[str, None] = {}
        self.apis: dict[str, None] = {}

    def enter(self, phase: str, module: str, api: str, seconds: float | None) -> None:
        self.running[phase] = self.running.get(phase, 0) + 1
        if seconds is not None:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds
        if module and module not in self.modules:
            self.modules[module] = None
        if api and api not in self.apis and len(self.apis) < MOST_NAMES:
            self.apis[api] = None

    def end_step(self) -> None:
        for phase, count in self.running.items():
            self.counts[phase] = self.counts.get(phase, 0) + count
        self.running = {}
        if self.seconds:
            self.steps.append(self.seconds)
            self.seconds = {}
        if self.awaited:
            self.awaited_steps.append(self.awaited)
            self.awaited = {}

    def described(self, values: bool, device: DeviceTimes | None) -> OperatorCall:
        self.end_step()
        args, kwargs = self.arguments
        given = described_arguments(args, kwargs, values)
        region = self.func if isinstance(self.func, Region) else None
        writes = region.writes if region else writes_of(self.func, len(args))
        outputs = tuple(TensorSpec(name_of(d), shape) for d, shape in self.outputs or ())
        # What a call writes to is its result: described once is enough.
        if writes or any(output.dtype not in ITEM_SIZE for output in outputs):
            outputs = ()
        call = OperatorCall(
            index=self.index,
            operator=region.operator if region else self.func._schema.name,
            overload="default" if region else self.func._schema.overload_name or "default",
            graph=region.graph if region else None,
            args=given.args,
            kwargs=given.kwargs,
            writes=writes,
            outputs=outputs,
            counts=dict(self.counts),
            seconds=typical(self.steps),
            awaited_seconds=typical(self.awaited_steps),
            device_seconds={}
            if device is None
            else {phase: device.of_call.get((self.index, phase), 0.0) for phase in self.counts},
            modules=tuple(name[:LONGEST_NAME] for name in islice(self.modules, MOST_NAMES)),
            more_modules=max(0, len(self.modules) - MOST_NAMES),
            apis=tuple(name[:LONGEST_NAME] for name in self.apis),
        )
        try:
            operator_call(call_line(call), call.index, {})
        except Wrong as error:
            # An unknown dtype or device must not spoil the rest of the file.
            reason = Opaque(f"value ({error})"[:LONGEST_NAME])
            return replace(call, args=(reason,), kwargs={}, outputs=())
        return call


def typical(steps: list[dict[str, float]]) -> dict[str, float]:
    """Phase → seconds in the window. One step in which something else ran does not count more than
    the others: its median times the number of steps."""
    by_phase: dict[str, list[float]] = {}
    for step in steps:
        for phase, seconds in step.items():
            by_phase.setdefault(phase, []).append(seconds)
    return {phase: median(found) * len(found) for phase, found in by_phase.items()}


def writes_of(func: Any, positional: int) -> tuple[int | str, ...]:
    """The arguments that an operator writes to, as its schema says: `Tensor(a!) self`."""
    return tuple(
        number if number < positional else argument.name
        for number, argument in enumerate(func._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    )


@dataclass
class OperatorLog:
    calls: dict[Any, LoggedCall] = field(default_factory=dict)
    #: Calls of the step before the window: the same ones need not be copied again.
    rehearsed: dict[Any, LoggedCall] = field(default_factory=dict)
    #: What happened and is not yet entered below: to do so in every call would slow the program.
    visits: list[Visit] = field(default_factory=list)
    #: The calls of the current step.
    order: list[Entry] = field(default_factory=list)
    #: The order of the last step that ended.
    last_order: list[Entry] = field(default_factory=list)
    #: Calls of what is not an operator of the registry, by name.
    skipped: dict[str, int] = field(default_factory=dict)
    #: Calls of modules that are not the model, by class.
    others: Mapping[str, int] = field(default_factory=dict)
    overflown: bool = False
    #: Where in `order` the calls of the top module ended, as long as no optimizer stepped.
    call_ends: list[int] = field(default_factory=list)
    #: Whom the GPU worked for; None where there was none in use.
    device: DeviceTimes | None = None

    def add(self, visit: Visit) -> None:
        self.visits.append(visit)
        if len(self.visits) >= MOST_VISITS:
            self.enter_visits()

    def enter_visits(self) -> None:
        visits, self.visits = self.visits, []
        for call, phase, module, api, seconds, reads, makes in visits:
            call.enter(phase, module, api, seconds)
            if len(self.order) < LONGEST_ORDER:
                self.order.append((call.index, phase, reads, makes))
            else:
                self.overflown = True

    def end_step(self) -> None:
        self.enter_visits()
        self.last_order, self.order, self.call_ends = self.order, [], []
        for call in self.calls.values():
            call.end_step()

    def drop_unfinished(self) -> None:
        """The running step will not end: what was seen of it is not a step. (Calls that only it has
        are the last ones, so the others keep their numbers.)"""
        self.enter_visits()
        self.order, self.call_ends = [], []
        for call in self.calls.values():
            call.running, call.seconds, call.awaited = {}, {}, {}
        self.calls = {key: call for key, call in self.calls.items() if call.counts}

    def forget_awaited(self) -> None:
        """Collectives are no longer waited for: a part of them is no sum."""
        for call in self.calls.values():
            call.awaited, call.awaited_steps = {}, []

    def end_call(self) -> None:
        self.enter_visits()
        self.call_ends.append(len(self.order))

    def capture(self, header: Mapping[str, Any], values: bool, name: str) -> Capture:
        """All of it as plain data. Without a step, the last call of the model stands for one, with
        what came since the call before; if there is only one, everything."""
        self.enter_visits()
        if not self.last_order:
            first, last = 0, len(self.order)
            if len(self.call_ends) > 1:
                first, last = self.call_ends[-2:]
            self.last_order = self.order[first:last]
        calls = tuple(logged.described(values, self.device) for logged in self.calls.values())
        numbers: dict[int, int] = {}

        def numbered(addresses: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(numbers.setdefault(each, len(numbers)) for each in addresses)

        order = tuple(
            Step(index, numbered(reads), numbered(makes), phase)
            for index, phase, reads, makes in ([] if self.overflown else self.last_order)
            if len(reads) == len(calls[index].tensors)
        )
        reason = "no operator of the registry: it calls Python"
        skipped = {name: (count, reason) for name, count in self.skipped.items()}
        skipped |= {name: (count, NOT_THE_MODEL) for name, count in self.others.items()}
        for kernel, (count, seconds) in (self.device.others if self.device else {}).items():
            spent = f"{seconds * 1e6:.4g} µs on the GPU"
            skipped[kernel] = (count, f"launched by no operator, {spent}")
        schemas = {
            call.qualified: str(logged.func._schema)
            for call, logged in zip(calls, self.calls.values())
            if not call.compiled
        }
        return Capture(calls, header, order, skipped, name, schemas)
