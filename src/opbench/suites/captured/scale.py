"""Calls at sizes nobody ran: from a capture and one probe per axis, every integer of every call.

An integer depends on an axis as a power of it (`batch × channels`), or as a straight line
(`sequence + 1`); several axes multiply. Whatever does not come out whole is refused, not rounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from opbench.capture.call import Call, Capture, TensorSpec, contiguous
from opbench.suites.captured.runtimes import bounds_of

#: Powers of an axis tried: attention scores grow with the square of the sequence.
POWERS = (0, 1, 2, 3)
#: Tried after them, for what is shared out over an axis.
SHRINKING = (-1,)


class Unfit(Exception):
    """Why the calls at the asked size cannot be foretold."""


def integers(call: Call) -> list[int]:
    """Every integer of a call that may depend on a size, in a fixed order."""
    found: list[int] = []
    for argument in (*call.args, *call.kwargs.values(), *call.outputs):
        found += _integers(argument)
    return found


def _integers(argument: Any) -> Iterator[int]:
    if isinstance(argument, TensorSpec):
        yield from argument.shape
        yield from argument.steps
        yield argument.offset
        # Ranges of indices: where positions are looked up, the largest grows with the sequence.
        low, high = (0, 0) if argument.floating else bounds_of(argument)
        yield low
        yield high + 1
    elif isinstance(argument, (list, tuple)):
        for each in argument:
            yield from _integers(each)
    elif isinstance(argument, int) and not isinstance(argument, bool):
        yield argument


def shape_of(call: Call) -> tuple[Any, ...]:
    """What two calls must have in common to be the same call at two sizes."""

    def skeleton(argument: Any) -> Any:
        if isinstance(argument, TensorSpec):
            return ("tensor", argument.dtype, len(argument.shape), argument.alias, argument.device)
        if isinstance(argument, (list, tuple)):
            return tuple(skeleton(each) for each in argument)
        if isinstance(argument, bool) or argument is None or isinstance(argument, str):
            return argument
        return type(argument).__name__

    parts = (*call.args, *call.kwargs.values(), *call.outputs)
    return (call.operator, call.overload, tuple(call.kwargs), *(skeleton(each) for each in parts))


def at(call: Call, capture: Capture, sizes: Mapping[str, int]) -> Call:
    """The call with every axis at the given size. Raises `Unfit`."""
    ranges = set(bound_positions(call))
    found = []
    for position, value in enumerate(integers(call)):
        total = Fraction(1)
        moved = Fraction(value)
        for axis, size in sizes.items():
            base, probe = capture.sizes[axis], capture.probes[axis]
            probed = dict(call.at.get(axis, ())).get(position, value)
            if probed == value or size == base:
                continue
            fitted = fit(value, probed, base, probe, size, exactly=position in ranges)
            if value:
                total *= fitted / value
            else:
                moved += fitted
        result = moved * total if value else moved
        if result.denominator != 1 and position in ranges:
            result = Fraction(value)  # a range that follows the axis by chance
        elif result.denominator != 1:
            raise Unfit(
                f"{call.qualified}: an integer that is {value} at "
                f"{', '.join(f'{a}={capture.sizes[a]}' for a in sizes)} would be {float(result):g}"
            )
        found.append(int(result))
    return rebuilt(call, found)


def fit(
    value: int, probed: int, base: int, probe: int, size: int, exactly: bool = False
) -> Fraction:
    """What `value`, seen at `base`, and `probed`, seen at `probe`, is at `size`.

    A range of values follows the axis exactly or not at all: random labels differ from one run to
    the next and grow with nothing. It never shrinks as the axis grows: that is chance.
    """
    if value:
        for power in POWERS if exactly else POWERS + SHRINKING:
            if Fraction(probed, value) == Fraction(probe, base) ** power:
                return value * Fraction(size, base) ** power
    if exactly:
        return Fraction(value)
    return value + Fraction(probed - value, probe - base) * (size - base)


def bound_positions(call: Call) -> Iterator[int]:
    """Positions in `integers` that are ranges of values."""
    position = 0
    for argument in (*call.args, *call.kwargs.values(), *call.outputs):
        for leaf in _leaves(argument):
            count = len(list(_integers(leaf)))
            if isinstance(leaf, TensorSpec):
                yield position + count - 2
                yield position + count - 1
            position += count


def _leaves(argument: Any) -> Iterator[Any]:
    if isinstance(argument, (list, tuple)):
        for each in argument:
            yield from _leaves(each)
    else:
        yield argument


def rebuilt(call: Call, numbers: Sequence[int]) -> Call:
    """The call with these in the place of its integers."""
    left = iter(numbers)

    def take(count: int) -> tuple[int, ...]:
        return tuple(next(left) for _ in range(count))

    def put(argument: Any) -> Any:
        if isinstance(argument, TensorSpec):
            rank = len(argument.shape)
            shape, strides, (offset, low, high) = take(rank), take(rank), take(3)
            if any(n < 0 for n in (*shape, *strides, offset)):
                raise Unfit(f"{call.qualified}: a dimension would be negative")
            return replace(
                argument,
                shape=shape,
                strides=None if strides == contiguous(shape) else strides,
                offset=offset,
                values=values_at(argument, shape, low, high - 1),
            )
        if isinstance(argument, (list, tuple)):
            return type(argument)(put(each) for each in argument)
        if isinstance(argument, int) and not isinstance(argument, bool):
            return take(1)[0]
        return argument

    return replace(
        call,
        args=tuple(put(each) for each in call.args),
        kwargs={name: put(value) for name, value in call.kwargs.items()},
        outputs=tuple(put(each) for each in call.outputs),
        counts=call.counts,
    )


def values_at(spec: TensorSpec, shape: tuple[int, ...], low: int, high: int) -> Any:
    """Values kept one by one fit one size only; at another they are drawn from their range."""
    values = spec.values
    if spec.floating or values is None or "all" in values or "true" in values:
        return values
    if shape == spec.shape and (low, high) == bounds_of(spec):
        return values
    if "bits" in values:
        return {"true": values["bits"].count("1") / max(1, len(values["bits"]))}
    if "from" in values:
        return values
    kept = {key: values[key] for key in ("sorted", "distinct") if key in values}
    return {"lo": low, "hi": max(low, high), **kept}


def capture_at(capture: Capture, sizes: Mapping[str, int]) -> Capture:
    """The whole capture at other sizes; what is known of its time is not."""
    calls = tuple(at(call, capture, sizes) for call in capture.calls)
    return replace(capture, calls=calls)


# -- learning from probes ------------------------------------------------------------------------


def combined(base: Capture, probes: Mapping[str, tuple[int, Capture]]) -> Capture:
    """The base with what its probes tell: call by call, in order. Raises `Unfit`.

    Calls that are equal at the base size and differ at a probe (a batch that happens to be as
    large as a hidden dimension) are told apart from here on.
    """
    skipped = dict(base.skipped)
    if any(len(probe.order) != len(base.order) for _, probe in probes.values()):
        # A data loader takes its samples one by one: leave that out, the model is what is asked.
        lost = sum(step.phase == "data" for step in base.order)
        skipped["calls of the data phase"] = (lost, "their number depends on the size")
        base = without_data(base)
        probes = {axis: (size, without_data(probe)) for axis, (size, probe) in probes.items()}
    for axis, (_, probe) in probes.items():
        check_alike(axis, base, probe)
    numbers: dict[tuple[int, ...], int] = {}
    order = []
    for position, step in enumerate(base.order):
        key = (step.call, *(probe.order[position].call for _, probe in probes.values()))
        order.append(replace(step, call=numbers.setdefault(key, len(numbers))))
    calls = []
    for key, index in numbers.items():
        call = base.calls[key[0]]
        here = integers(call)
        changes = {}
        for axis, other in zip(probes, key[1:]):
            there = integers(probes[axis][1].calls[other])
            changes[axis] = tuple((i, b) for i, (a, b) in enumerate(zip(here, there)) if a != b)
        steps = [step for step in order if step.call == index]
        share = len(steps) * base.steps / call.count if call.count else 1
        counts: dict[str, int] = {}
        for step in steps:
            counts[step.phase] = counts.get(step.phase, 0) + base.steps
        seconds = {phase: value * share for phase, value in call.seconds.items() if phase in counts}
        calls.append(
            replace(call, index=index, counts=counts, seconds=seconds,
                    at={axis: pairs for axis, pairs in changes.items() if pairs})
        )  # fmt: skip
    header = {**base.header, "probes": {axis: size for axis, (size, _) in probes.items()}}
    return replace(base, calls=tuple(calls), order=tuple(order), header=header, skipped=skipped)


def without_data(capture: Capture) -> Capture:
    return replace(capture, order=tuple(s for s in capture.order if s.phase != "data"))


def check_alike(axis: str, base: Capture, probe: Capture) -> None:
    here, there = len(base.order), len(probe.order)
    if not here:
        raise Unfit("the order of the calls was not captured, so probes cannot be matched")
    if here != there:
        raise Unfit(
            f"the step has {here} calls at the base and {there} at the probe of {axis}: "
            f"the number of calls itself depends on {axis}, which is not foretold"
        )
    for number, (a, b) in enumerate(zip(base.order, probe.order)):
        first, second = base.calls[a.call], probe.calls[b.call]
        if shape_of(first) != shape_of(second):
            raise Unfit(
                f"call {number} of the step is {first.qualified} at the base and "
                f"{second.qualified} with other arguments at the probe of {axis}"
            )
