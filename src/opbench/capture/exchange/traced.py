"""Operators seen in a trace, gathered into a capture: unique calls, their counts and order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from opbench.capture.calls import Capture, OperatorCall, Step
from opbench.capture.checks import Wrong, operator_of
from opbench.capture.reading import VERSION, operator_call
from opbench.capture.values import TensorSpec
from opbench.capture.writing import call_line

#: The names of C++ types in a trace.
DTYPES = {
    "float": "float32", "double": "float64", "c10::Half": "float16", "c10::BFloat16": "bfloat16",
    "long int": "int64", "long": "int64", "int": "int32", "short": "int16", "short int": "int16",
    "signed char": "int8", "unsigned char": "uint8", "bool": "bool",
    "c10::complex<float>": "complex64", "c10::complex<double>": "complex128",
}  # fmt: skip

#: What a trace says of a tensor is its form: an index is 0 wherever it is used.
NO_VALUES = "a trace has no values: indices and masks are 0"


class NotInTrace(Exception):
    """Why a call of a trace cannot be replayed."""


@dataclass
class Traced:
    """The calls found so far."""

    source: str
    calls: dict[Any, OperatorCall] = field(default_factory=dict)
    order: list[Step] = field(default_factory=list)
    #: Operator → how many of its calls could not be taken, and the reason of the first.
    skipped: dict[str, tuple[int, str]] = field(default_factory=dict)

    def add(
        self,
        schema: Schema,
        given: list[Any],
        reads: tuple[int, ...],
        makes: tuple[int, ...],
        phase: str,
        seconds: float = 0.0,
        outputs: tuple[TensorSpec, ...] = (),
    ) -> None:
        args = tuple(given[: schema.positional])
        names = schema.names[schema.positional :]
        kwargs = {n: v for n, v in zip(names, given[schema.positional :]) if v is not None}
        operator, overload = operator_of(schema.qualified)
        call = OperatorCall(
            len(self.calls), operator, overload, args, kwargs, schema.writes, outputs
        )
        operator_call(call_line(call), call.index, {})  # what a file may hold, and nothing else
        known = self.calls.setdefault((schema.qualified, call.signature()), call)
        counts = {**known.counts, phase: known.counts.get(phase, 0) + 1}
        spent = dict(known.seconds)
        if seconds:
            spent[phase] = spent.get(phase, 0.0) + seconds
        self.calls[schema.qualified, call.signature()] = replace(
            known, counts=counts, seconds=spent
        )
        if len(reads) == len(known.tensors):
            self.order.append(Step(known.index, reads, makes, phase))

    def skip(self, name: str, reason: str) -> None:
        count, first = self.skipped.get(name, (0, reason))
        self.skipped[name] = (count + 1, first)

    def capture(self, name: str, device: str) -> Capture:
        header: Mapping[str, Any] = {
            "opbench": "capture", "version": VERSION, "level": "operators", "source": self.source,
            "window": "all", "steps": 1, "threads": 1, "device": device, "values": False,
        }  # fmt: skip
        return Capture(tuple(self.calls.values()), header, tuple(self.order), self.skipped, name)


@dataclass(frozen=True)
class Schema:
    """What of an operator's schema a trace leaves to be known."""

    qualified: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    #: Arguments before the `*`.
    positional: int
    writes: tuple[int | str, ...]
    #: As text; empty for an argument without one.
    defaults: tuple[str, ...] = ()


def parsed(text: str) -> Schema:
    """`aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`"""
    qualified, _, rest = text.partition("(")
    names: list[str] = []
    types, writes, defaults, positional = [], [], [], None
    for part in split_arguments(rest):
        if part == "*":
            positional = len(names)
            continue
        declared, _, default = part.partition("=")
        kind, _, name = declared.strip().rpartition(" ")
        defaults.append(default)
        if "!" in kind:
            writes.append(len(names) if positional is None else name)
        names.append(name)
        types.append(kind)
    count = len(names) if positional is None else positional
    return Schema(qualified, tuple(names), tuple(types), count, tuple(writes), tuple(defaults))


def split_arguments(text: str) -> list[str]:
    """The arguments up to the closing bracket, at the outermost commas."""
    found, depth, current = [], 0, ""
    for sign in text:
        if sign in "([":
            depth += 1
        elif sign in ")]":
            if depth == 0:
                break
            depth -= 1
        if sign == "," and depth == 0:
            found.append(current.strip())
            current = ""
        else:
            current += sign
    return [*found, current.strip()] if current.strip() else found


def tensor_spec(kind: str, shape: Any, strides: Any, device: str) -> TensorSpec:
    if kind not in DTYPES:
        raise NotInTrace(f"a tensor of {kind or 'no dtype'}")
    if not isinstance(shape, list) or not all(isinstance(n, int) for n in shape):
        raise NotInTrace("the shape of a tensor is missing: record with shapes")
    steps = tuple(strides) if isinstance(strides, list) and len(strides) == len(shape) else None
    return TensorSpec(DTYPES[kind], tuple(shape), steps, device=device)


__all__ = ["NO_VALUES", "NotInTrace", "Schema", "Traced", "Wrong", "parsed", "tensor_spec"]
