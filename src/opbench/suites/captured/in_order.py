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

from opbench.capture.call import Call, Capture, Special, Step, TensorSpec

#: Where results go that nobody reads again.
NOWHERE = 0


@dataclass
class Buffers:
    """Numbers for the storages of a step. Memory that was used for different kinds of content is
    several buffers here: an index must never be found where a float was, nor a square root be
    asked of what another call left negative."""

    home: str
    sizes: list[int] = field(default_factory=list)
    facts: list[tuple[str, Any, str]] = field(default_factory=list)
    _numbers: dict[Any, int] = field(default_factory=dict)

    def number(self, storage: int, spec: TensorSpec) -> int:
        values = spec.values
        kind: Any
        if spec.floating:
            kind = bool(values) and values[0] >= 0
        else:
            kind = json.dumps(values, sort_keys=True)
        key = (storage, spec.dtype, kind)
        if key not in self._numbers:
            self._numbers[key] = len(self.sizes)
            self.sizes.append(0)
            where = spec.device if spec.device.split(":")[0] != self.home.split(":")[0] else ""
            self.facts.append((spec.dtype, values, where))
        number = self._numbers[key]
        self.sizes[number] = max(self.sizes[number], spec.extent)
        return number

    def plan(self) -> list[list[Any]]:
        return [
            [size, dtype, list(values) if isinstance(values, tuple) else values, where]
            for size, (dtype, values, where) in zip(self.sizes, self.facts)
        ]


def plan(capture: Capture, phase: str = "") -> str:
    """JSON for `makers.PROGRAM`: the calls of one phase, or of the whole step."""
    steps = [step for step in capture.order if not phase or step.phase == phase]
    calls = [step for step in steps if not capture.calls[step.call].obstacle]
    buffers = Buffers(str(capture.header.get("device") or "cpu"))
    operators: dict[tuple[str, str], int] = {}
    kept, places = kept_in(calls)
    written: dict[int, None] = {}
    planned = []
    for step, place in zip(calls, kept):
        call = capture.calls[step.call]
        key = (call.operator, call.overload)
        number = operators.setdefault(key, len(operators))
        arguments = Arguments(call, step, buffers)
        args = [arguments.plain(argument) for argument in call.args]
        kwargs = {name: arguments.plain(value) for name, value in call.kwargs.items()}
        for name in call.writes:
            target = kwargs.get(name) if isinstance(name, str) else position(args, name)
            written.update(dict.fromkeys(buffers_of(target)))
        planned.append([number, args, kwargs, place])
    return json.dumps(
        {
            "buffers": buffers.plan(),
            "operators": [list(each) for each in operators],
            "calls": planned,
            "written": list(written),
            "places": places,
        },
        separators=(",", ":"),
    )


@dataclass
class Arguments:
    """The arguments of one call of the step as plain data, its tensors by buffer."""

    call: Call
    step: Step
    buffers: Buffers
    _seen: int = 0

    def plain(self, argument: Any) -> Any:
        if isinstance(argument, (list, tuple)):
            return [self.plain(each) for each in argument]
        if isinstance(argument, Special):
            if argument.kind == "device":
                home = self.buffers.home.split(":")[0]
                return {"device": "" if argument.value.split(":")[0] == home else argument.value}
            value = argument.value
            return {argument.kind: list(value) if isinstance(value, tuple) else value}
        if not isinstance(argument, TensorSpec):
            return argument
        number = self.buffers.number(self.step.reads[self._seen], argument)
        self._seen += 1
        values = argument.values if isinstance(argument.values, dict) else None
        shape, strides = list(argument.shape), list(argument.steps)
        return {"tensor": [number, shape, strides, argument.offset, values]}


def position(args: Sequence[Any], index: int) -> Any:
    return args[index] if 0 <= index < len(args) else None


def buffers_of(argument: Any) -> list[int]:
    if isinstance(argument, list):
        return [number for each in argument for number in buffers_of(each)]
    if isinstance(argument, dict) and "tensor" in argument:
        return [argument["tensor"][0]]
    return []


def kept_in(steps: Sequence[Step]) -> tuple[list[int], int]:
    """For each call the place its result is kept in, and how many places there are."""
    reads: dict[int, list[int]] = defaultdict(list)
    made: dict[int, list[int]] = defaultdict(list)
    for index, step in enumerate(steps):
        for storage in step.reads:
            reads[storage].append(index)
        for storage in set(step.makes) - set(step.reads):
            made[storage].append(index)
    free: list[int] = []
    ending: list[tuple[int, int]] = []  # (last reader, place)
    places, kept = NOWHERE + 1, []
    for index, step in enumerate(steps):
        while ending and ending[0][0] < index:
            heapq.heappush(free, heapq.heappop(ending)[1])
        last = max(
            (last_read(reads[s], made[s], index) for s in set(step.makes) - set(step.reads)),
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


def last_read(reads: Sequence[int], made: Sequence[int], index: int) -> int:
    """The last call that read a storage before it was made anew."""
    again = bisect.bisect_right(made, index)
    limit = made[again] if again < len(made) else float("inf")
    found = bisect.bisect_left(reads, limit) - 1
    return reads[found] if found >= 0 else index
