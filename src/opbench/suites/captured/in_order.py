"""The captured step as one program: its calls in their order, on memory shared as it was shared.

Two arguments that lay in the same storage lie in the same buffer again, and a result is kept as
long as some later call read its storage, so that caches and the allocator see what they saw then.
"""

from __future__ import annotations

import bisect
import heapq
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from opbench.capture.calls import Capture, Step
from opbench.capture.codec import OPERATORS
from opbench.capture.values import TensorSpec, TorchConstant

#: The place of results that are never read again.
NOWHERE = 0


@dataclass
class Buffers:
    """Numbers for the storages of a step. Memory that was used for different kinds of content is
    several buffers here: an index must never be found where a float was, nor a square root be
    asked of what another call left negative."""

    #: The device that the captured program ran on.
    captured_on: str
    sizes: list[int] = field(default_factory=list)
    facts: list[tuple[str, Any, str, bool]] = field(default_factory=list)
    _numbers: dict[Any, int] = field(default_factory=dict)

    def number(self, storage: int, spec: TensorSpec) -> int:
        values = spec.values
        kind: Any
        if spec.floating:
            kind = bool(values) and (values[0] >= 0, *values[7:])
        else:
            kind = json.dumps(values, sort_keys=True)
        key = (storage, spec.dtype, kind, spec.pinned)
        if key not in self._numbers:
            self._numbers[key] = len(self.sizes)
            self.sizes.append(0)
            self.facts.append((spec.dtype, values, self.elsewhere(spec.device), spec.pinned))
        number = self._numbers[key]
        self.sizes[number] = max(self.sizes[number], spec.extent)
        return number

    def elsewhere(self, device: str) -> str:
        """The device, where it is not the captured program's own; otherwise empty."""
        return device if device.split(":")[0] != self.captured_on.split(":")[0] else ""

    def plan(self) -> list[list[Any]]:
        return [
            [size, dtype, list(values) if isinstance(values, tuple) else values, where]
            for size, (dtype, values, where, _) in zip(self.sizes, self.facts)
        ]

    @property
    def pinned(self) -> list[int]:
        return [number for number, (*_, pinned) in enumerate(self.facts) if pinned]


def plan(capture: Capture, phase: str = "") -> str:
    """JSON for `makers.step`: the calls of one phase, or of the whole step."""
    steps = [step for step in capture.order if not phase or step.phase == phase]
    calls = [step for step in steps if not capture.calls[step.call].obstacle]
    buffers = Buffers(capture.device)
    operators: dict[tuple[str, str], int] = {}
    graphs: list[Any] = []
    kept, places = kept_in(calls)
    written: dict[int, None] = {}
    planned = []
    for step, place in zip(calls, kept):
        call = capture.calls[step.call]
        key = (call.operator, call.overload)
        number = operators.setdefault(key, len(operators))
        if number == len(graphs):
            graphs.append([list(node) for node in call.graph.nodes] if call.graph else None)
        arguments = PlannedArguments(step, buffers)
        args = [arguments.encode(value) for value in call.args]
        kwargs = {name: arguments.encode(value) for name, value in call.kwargs.items()}
        for name in call.writes:
            target = kwargs.get(name) if isinstance(name, str) else position(args, name)
            written.update(dict.fromkeys(buffers_of(target)))
        planned.append([number, args, kwargs, place, call.index])
    return json.dumps(
        {
            "buffers": buffers.plan(),
            "operators": [[*name, graph] for name, graph in zip(operators, graphs)],
            "calls": planned,
            "written": list(written),
            "places": places,
            **({"pinned": buffers.pinned} if buffers.pinned else {}),
        },
        separators=(",", ":"),
    )


@dataclass
class PlannedArguments:
    """The arguments of one call of the step as plain data, its tensors by buffer."""

    step: Step
    buffers: Buffers
    _seen: int = 0

    def encode(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self.encode(part) for part in value]
        if isinstance(value, TorchConstant) and value.kind == "device":
            return {"device": self.buffers.elsewhere(value.name)}
        if not isinstance(value, TensorSpec):
            return OPERATORS.encode(value)
        if value.layout:
            self._seen += 1
            parts = [[p.shape, p.dtype, p.strides, p.values] for p in value.parts]
            return {"sparse": [value.layout, list(value.shape), parts, value.coalesced]}
        number = self.buffers.number(self.step.reads[self._seen], value)
        self._seen += 1
        return {"tensor": [number, list(value.shape), list(value.steps), value.offset]}


def position(args: Sequence[Any], index: int) -> Any:
    return args[index] if 0 <= index < len(args) else None


def buffers_of(argument: Any) -> list[int]:
    if isinstance(argument, list):
        return [number for each in argument for number in buffers_of(each)]
    if isinstance(argument, dict) and "tensor" in argument:
        return [argument["tensor"][0]]
    return []


def kept_in(steps: Sequence[Step]) -> tuple[list[int], int]:
    """For each call the place its result is kept in, and the number of places."""
    reads: dict[int, list[int]] = defaultdict(list)
    created: dict[int, list[int]] = defaultdict(list)
    for index, step in enumerate(steps):
        for storage in step.reads:
            reads[storage].append(index)
        for storage in set(step.makes) - set(step.reads):
            created[storage].append(index)
    free: list[int] = []
    ending: list[tuple[int, int]] = []  # (last reader, place)
    places, kept = NOWHERE + 1, []
    for index, step in enumerate(steps):
        while ending and ending[0][0] < index:
            heapq.heappush(free, heapq.heappop(ending)[1])
        last = max(
            (last_read(reads[s], created[s], index) for s in set(step.makes) - set(step.reads)),
            default=index,
        )
        if last <= index:
            kept.append(NOWHERE)
            continue
        if not free:
            heapq.heappush(free, places)
            places += 1
        place = heapq.heappop(free)
        heapq.heappush(ending, (last, place))
        kept.append(place)
    return kept, places


def last_read(reads: Sequence[int], created: Sequence[int], index: int) -> int:
    """The last call that read a storage before it was created anew."""
    again = bisect.bisect_right(created, index)
    limit = created[again] if again < len(created) else float("inf")
    last = bisect.bisect_left(reads, limit) - 1
    return reads[last] if last >= 0 else index
