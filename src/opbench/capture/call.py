"""What a capture holds: unique operator calls, how often each occurred, and in which order.

Plain data, read from a file that anybody may have written: nothing in it is ever executed but
operators looked up by name in torch's registry, with arguments made anew from their description.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

#: In the order in which a training step runs through them.
PHASES = ("data", "forward", "backward", "optimizer")

ITEM_SIZE = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2,
    "int8": 1, "uint8": 1, "bool": 1, "complex64": 8, "complex128": 16, "uint16": 2, "uint32": 4,
    "uint64": 8, "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip


@dataclass(frozen=True)
class TensorSpec:
    """One tensor argument: how it lay in memory, and what was in it."""

    dtype: str
    shape: tuple[int, ...]
    #: None when contiguous.
    strides: tuple[int, ...] | None = None
    #: Elements before the first one, in a storage shared with another argument.
    offset: int = 0
    #: Number of the earlier tensor argument of this call that shares its storage.
    alias: int | None = None
    device: str = "cpu"
    #: The values, see `values` in docs/capture.md; None where only the shape is known.
    values: Any = None

    @property
    def floating(self) -> bool:
        return "float" in self.dtype or "complex" in self.dtype

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides, spelled out."""
        return self.strides if self.strides is not None else contiguous(self.shape)

    @property
    def extent(self) -> int:
        """Elements its storage must have."""
        if not prod(self.shape):
            return self.offset
        last = sum((n - 1) * step for n, step in zip(self.shape, self.steps))
        return self.offset + last + 1

    @property
    def bytes(self) -> int:
        return self.extent * ITEM_SIZE[self.dtype]

    @property
    def text(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= max(size, 1)
    return tuple(reversed(steps))


@dataclass(frozen=True)
class Special:
    """An argument that is neither tensor, number, text nor list: `kind` says what it is."""

    kind: str  # dtype, device, layout, memory_format, generator, complex, float, other
    value: Any


@dataclass(frozen=True)
class Call:
    """One unique call: an operator with its arguments, and where it was seen."""

    #: Position in the file, from 0: part of its name.
    index: int
    #: `aten::add_`
    operator: str
    #: `Tensor`; `default` for an operator with one form only.
    overload: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    #: Positions (or names) of the arguments that it writes to.
    writes: tuple[int | str, ...] = ()
    #: What it gave: tensors by dtype and shape.
    outputs: tuple[TensorSpec, ...] = ()
    #: Phase → calls in the captured window.
    counts: Mapping[str, int] = field(default_factory=dict)
    #: Phase → seconds in the captured window, when captured with timing.
    seconds: Mapping[str, float] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    #: The Python functions behind it, or the autograd node.
    apis: tuple[str, ...] = ()
    #: Axis → (position among `scale.integers`, its value at that axis' probe), where it differs.
    at: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    @property
    def time(self) -> float:
        return sum(self.seconds.values())

    @property
    def qualified(self) -> str:
        return self.operator + ("" if self.overload == "default" else f".{self.overload}")

    @property
    def name(self) -> str:
        """`add_.Tensor-017`: the operator, and the place of the call in its file."""
        space, _, base = self.qualified.partition("::")
        return f"{'' if space == 'aten' else space + '.'}{base}-{self.index:03d}"

    @cached_property
    def tensors(self) -> tuple[TensorSpec, ...]:
        return tuple(tensors_in([*self.args, *self.kwargs.values()]))

    @property
    def in_place(self) -> bool:
        return bool(self.writes)

    @property
    def obstacle(self) -> str:
        """Why it cannot be replayed, as far as its description tells; empty when it can."""
        for argument in everything_in([*self.args, *self.kwargs.values()]):
            if isinstance(argument, Special) and argument.kind == "other":
                return f"an argument is a {argument.value}, which a file cannot hold"
        return ""

    def signature(self) -> str:
        """`(float32[8,3,96,96], float32[64,3,7,7], None, [2, 2])`, for people."""
        parts = [shown(argument) for argument in self.args]
        parts += [f"{name}={shown(value)}" for name, value in self.kwargs.items()]
        return f"({', '.join(parts)})"


@dataclass(frozen=True)
class Step:
    """One call of the captured step in order, with the storages it read and made."""

    call: int
    #: One number per tensor argument: equal numbers are the same memory.
    reads: tuple[int, ...] = ()
    #: One number per tensor it returned.
    makes: tuple[int, ...] = ()
    phase: str = "forward"


@dataclass(frozen=True)
class Capture:
    """A whole file."""

    calls: tuple[Call, ...]
    #: Facts of the first line: torch, threads, window, step_seconds, …
    header: Mapping[str, Any] = field(default_factory=dict)
    order: tuple[Step, ...] = ()
    #: Calls seen but not described, by name: with the reason.
    skipped: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    #: Name of the file without its folder and ending.
    name: str = "capture"

    @property
    def steps(self) -> int:
        """Training steps (or calls of the model) in the captured window."""
        return max(1, int(self.header.get("steps") or 1))

    @property
    def threads(self) -> int:
        return int(self.header.get("threads") or 1)

    @property
    def sizes(self) -> dict[str, int]:
        """Axis → the size at which the calls were captured."""
        return dict(self.header.get("sizes") or {})

    @property
    def probes(self) -> dict[str, int]:
        """Axis → the one other size that was captured to learn what depends on it."""
        return dict(self.header.get("probes") or {})

    @property
    def phases(self) -> tuple[str, ...]:
        seen = {phase for call in self.calls for phase in call.counts}
        return tuple(phase for phase in PHASES if phase in seen)


def everything_in(arguments: Any) -> Iterator[Any]:
    for argument in arguments:
        if isinstance(argument, (list, tuple)):
            yield from everything_in(argument)
        else:
            yield argument


def tensors_in(arguments: Any) -> Iterator[TensorSpec]:
    return (a for a in everything_in(arguments) if isinstance(a, TensorSpec))


def mapped(argument: Any, change: Any) -> Any:
    """The argument with every leaf of its lists passed through `change`."""
    if isinstance(argument, (list, tuple)):
        return type(argument)(mapped(each, change) for each in argument)
    return change(argument)


def shown(argument: Any) -> str:
    if isinstance(argument, TensorSpec):
        return argument.text
    if isinstance(argument, Special):
        return str(argument.value)
    if isinstance(argument, (list, tuple)):
        return f"[{', '.join(map(shown, argument))}]"
    return repr(argument)
