"""Calls at other sizes: from a capture and one probe per axis, every integer of every call.

An integer depends on an axis as a power of it (`batch × channels`), or as a straight line
(`sequence + 1`); several axes multiply. Whatever is not an integer then is refused, not rounded.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import count
from math import gcd, prod
from typing import Any

from opbench.capture.calls import Capture, OperatorCall
from opbench.capture.values import TensorSpec, contiguous, mapped

#: Powers of an axis tried: attention scores grow with the square of the sequence.
POWERS = (0, 1, 2, 3)
#: Tried after them, for what is shared out over an axis.
SHRINKING = (-1,)


class Unpredictable(Exception):
    """Why the calls at the requested size cannot be predicted."""


def rebuilt(call: OperatorCall, number: Callable[[int, bool], int]) -> OperatorCall:
    """The call with every integer that may depend on a size passed through `number`, in a fixed
    order; the second argument says whether it is the bound of a range of values."""

    def put(value: Any) -> Any:
        if isinstance(value, TensorSpec):
            return put_tensor(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return number(value, False)
        return value

    def put_tensor(spec: TensorSpec) -> TensorSpec:
        shape = tuple(number(size, False) for size in spec.shape)
        strides = tuple(number(step, False) for step in spec.steps)
        offset = number(spec.offset, False)
        # Ranges of indices: where positions are looked up, the largest grows with the sequence.
        low, high = (0, 0) if spec.floating else spec.bounds
        low, high = number(low, True), number(high + 1, True) - 1
        if any(n < 0 for n in (*shape, *strides, offset)):
            raise Unpredictable(f"{call.qualified}: a dimension would be negative")
        return replace(
            spec,
            shape=shape,
            strides=None if strides == contiguous(shape) else strides,
            offset=offset,
            values=values_at(spec, shape, low, high),
        )

    return call.mapped(put)


def integers(call: OperatorCall) -> list[int]:
    """Every integer of a call that may depend on a size."""
    values: list[int] = []

    def note(value: int, _bound: bool) -> int:
        values.append(value)
        return value

    rebuilt(call, note)
    return values


def skeleton(call: OperatorCall) -> tuple[Any, ...]:
    """What two calls must have in common to be the same call at two sizes."""

    def fixed(value: Any) -> Any:
        if isinstance(value, TensorSpec):
            return ("tensor", value.dtype, len(value.shape), value.alias, value.device)
        if isinstance(value, bool) or value is None or isinstance(value, str):
            return value
        return type(value).__name__

    parts = mapped([*call.given.values, *call.outputs], fixed)
    return (call.operator, call.overload, tuple(call.kwargs), *parts)


def at(call: OperatorCall, capture: Capture, sizes: Mapping[str, int]) -> OperatorCall:
    """The call with every axis at the given size. Raises `Unpredictable`."""
    positions = count()
    moved = [a for a, size in sizes.items() if size != capture.sizes[a]]
    for axis in moved:
        check_seen(axis, sizes[axis], capture.sizes[axis], capture.probes[axis])

    def predicted(value: int, bound: bool) -> int:
        position = next(positions)
        factor, result = Fraction(1), Fraction(value)
        for axis in moved:
            probed = dict(call.at.get(axis, ())).get(position, value)
            if probed == value:
                continue
            base, probe = capture.sizes[axis], capture.probes[axis]
            fitted = fit(value, probed, base, probe, sizes[axis], exactly=bound)
            if value:
                factor *= fitted / value
            else:
                result += fitted
        result *= factor
        if result.denominator != 1 and bound:
            return value  # a range that follows the axis by chance
        if result.denominator != 1:
            raise Unpredictable(
                f"{call.qualified}: an integer that is {value} at "
                f"{', '.join(f'{a}={capture.sizes[a]}' for a in sizes)} would be {float(result):g}"
            )
        return int(result)

    return rebuilt(call, predicted)


def check_seen(axis: str, size: int, base: int, probe: int) -> None:
    """A program that pads to multiples of 16 looks the same at 32 and 64 as one that does not: only
    multiples of what both sizes have in common were seen."""
    common = gcd(base, probe)
    if size % common:
        raise Unpredictable(
            f"{axis}={size} is not a multiple of {common}, but {axis}={base} and the probe "
            f"{axis}={probe} are, so padding could not be seen; probe an odd size as well, such as "
            f"--probe {axis}={probe - 3 if probe % 2 == 0 else probe}"
        )


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


def values_at(spec: TensorSpec, shape: tuple[int, ...], low: int, high: int) -> Any:
    """Values kept one by one fit one size only; at another they are drawn from their range."""
    values = spec.values
    if spec.floating or values is None or "all" in values or "true" in values:
        return values
    if shape == spec.shape and (low, high) == spec.bounds:
        return values
    density = true_share(spec)
    if density is not None:
        return {"true": density}
    if "from" in values:
        return values
    kept = {k: values[k] for k in ("sorted", "distinct", "heads", "marked") if k in values}
    return {"lo": low, "hi": max(low, high), **kept}


def true_share(spec: TensorSpec) -> float | None:
    """The share of true ones in a mask; None for integers."""
    values, elements = spec.values, max(1, prod(spec.shape))
    if "bits" in values:
        return float(values["bits"].count("1") / elements)
    if "runs" in values:
        return float(sum(values["runs"][1::2]) / elements)
    if "packed" in values:
        return sum(byte.bit_count() for byte in b64decode(values["packed"])) / elements
    if "count" in values:
        once = prod(n for n, step in zip(spec.shape, spec.steps) if step)
        return float(values["count"] / max(1, once))
    return None


def capture_at(capture: Capture, sizes: Mapping[str, int]) -> Capture:
    """The whole capture at other sizes; what is known of its time is not."""
    calls = tuple(at(call, capture, sizes) for call in capture.calls)
    return replace(capture, calls=calls)


# -- learning from probes ------------------------------------------------------------------------


def combined(base: Capture, probes: Mapping[str, tuple[int, Capture]]) -> Capture:
    """The base with what its probes show: call by call, in order. Raises `Unpredictable`.

    Calls that are equal at the base size and differ at a probe (a batch that happens to be as
    large as a hidden dimension) are two calls from here on.
    """
    skipped = dict(base.skipped)
    if any(len(probe.order) != len(base.order) for _, probe in probes.values()):
        # A data loader takes its samples one by one: leave that out, the model is what counts.
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
        raise Unpredictable("the order of the calls was not captured, so probes cannot be matched")
    if here != there:
        raise Unpredictable(
            f"the step has {here} calls at the base and {there} at the probe of {axis}: "
            f"the number of calls itself depends on {axis}, which is not predicted"
        )
    for number, (a, b) in enumerate(zip(base.order, probe.order)):
        first, second = base.calls[a.call], probe.calls[b.call]
        if skeleton(first) != skeleton(second):
            raise Unpredictable(
                f"call {number} of the step is {first.qualified} at the base and "
                f"{second.qualified} with other arguments at the probe of {axis}"
            )
