"""From what was logged to what is written: the capture as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opbench.capture.log import Log, Seen
from opbench.capture.values import Describing, name_of
from opbench.define.captured.call import Call, Capture, Step, TensorSpec


def capture_of(log: Log, header: Mapping[str, Any], values: bool, name: str) -> Capture:
    calls = tuple(call_of(seen, values) for seen in log.calls.values())
    numbers: dict[int, int] = {}

    def numbered(addresses: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(numbers.setdefault(each, len(numbers)) for each in addresses)

    order = tuple(
        Step(index, numbered(reads), numbered(makes), phase)
        for index, phase, reads, makes in ([] if log.overflown else log.last_order)
        if len(reads) == len(calls[index].tensors)
    )
    skipped = {
        name: (count, "no operator of the registry: it calls Python")
        for name, count in log.skipped.items()
    }
    return Capture(calls, header, order, skipped, name)


def call_of(seen: Seen, values: bool) -> Call:
    args, kwargs = seen.arguments
    described = Describing(args, kwargs, values)
    operator, overload = seen.func._schema.name, seen.func._schema.overload_name
    writes = writes_of(seen.func, len(args))
    outputs = tuple(TensorSpec(name_of(d), shape) for d, shape in seen.outputs or ())
    return Call(
        index=seen.index,
        operator=operator,
        overload=overload or "default",
        args=described.args,
        kwargs=described.kwargs,
        writes=writes,
        # What a call writes to is its result: described once is enough.
        outputs=() if writes else outputs,
        counts=dict(seen.counts),
        seconds=dict(seen.seconds),
        modules=tuple(name for name in seen.modules if name),
        apis=tuple(seen.apis),
    )


def writes_of(func: Any, positional: int) -> tuple[int | str, ...]:
    """The arguments that an operator writes to, as its schema says: `Tensor(a!) self`."""
    found: list[int | str] = []
    for number, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            found.append(number if number < positional else argument.name)
    return tuple(found)


def schemas_of(log: Log) -> dict[str, str]:
    found = {}
    for seen in log.calls.values():
        schema = seen.func._schema
        name = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
        found[name] = str(schema)
    return found
