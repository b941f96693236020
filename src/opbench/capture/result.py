"""From what was logged to what is written: the capture as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from opbench.capture import reading
from opbench.capture.call import ITEM_SIZE, Call, Capture, Special, Step, TensorSpec
from opbench.capture.checks import Wrong
from opbench.capture.log import Log, Seen
from opbench.capture.values import Describing, name_of
from opbench.capture.writing import call_line

#: Names longer than this are cut.
LONGEST = 200


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
    writes = writes_of(seen.func, len(args))
    outputs = tuple(TensorSpec(name_of(d), shape) for d, shape in seen.outputs or ())
    if any(output.dtype not in ITEM_SIZE for output in outputs):
        outputs = ()
    call = Call(
        index=seen.index,
        operator=seen.func._schema.name,
        overload=seen.func._schema.overload_name or "default",
        args=described.args,
        kwargs=described.kwargs,
        writes=writes,
        # What a call writes to is its result: described once is enough.
        outputs=() if writes else outputs,
        counts=dict(seen.counts),
        seconds=dict(seen.seconds),
        modules=tuple(name[:LONGEST] for name in seen.modules if name),
        apis=tuple(name[:LONGEST] for name in seen.apis),
    )
    try:
        reading.call_of(call_line(call), call.index, {})
    except Wrong as error:
        # A dtype or a device that nobody here has heard of must not spoil the rest of the file.
        reason = Special("other", f"value this format has no words for ({error})"[:LONGEST])
        return replace(call, args=(reason,), kwargs={}, outputs=())
    return call


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
