"""What an argument of a recorded call may be, whichever recorder saw it: plain data.

None, booleans, numbers, text, lists, tuples, slices, `...` and dictionaries with text as keys stand
for themselves. Everything else is one of the classes below. `codec` writes values to a file and
reads them back; `suites.captured.source` writes the source that creates them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from opbench.define.program import ITEM_SIZE


@dataclass(frozen=True)
class TensorSpec:
    """A tensor: its layout in memory, and as much of its contents as was recorded."""

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
    #: Whether it takes a gradient, where Python calls were recorded.
    grad: bool = False
    #: Empty for strided tensors.
    layout: str = ""
    #: Whether it lies in page-locked memory, which a GPU reads several times as fast.
    pinned: bool = False
    #: Of a sparse tensor: its indices and values, in the order its constructor takes them.
    parts: tuple[TensorSpec, ...] = ()
    #: Of a sparse tensor: whether its indices are sorted and unique.
    coalesced: bool = False

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
        if self.layout or not prod(self.shape):
            return self.offset
        last = sum((n - 1) * step for n, step in zip(self.shape, self.steps))
        return self.offset + last + 1

    @property
    def bytes(self) -> int:
        return self.extent * ITEM_SIZE[self.dtype] + sum(part.bytes for part in self.parts)

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest of its integers."""
        values = self.values if isinstance(self.values, dict) else {}
        if values.get("is"):
            return min(values["is"]), max(values["is"])
        if "all" in values:
            return values["all"], values["all"]
        if "from" in values:
            last = values["from"] + values["by"] * max(prod(self.shape) - 1, 0)
            return min(values["from"], last), max(values["from"], last)
        if "lo" in values:
            return values["lo"], values["hi"]
        return 0, 1 if self.dtype == "bool" else 0

    @property
    def text(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    @property
    def shown(self) -> str:
        return self.text + (f" {self.layout}" if self.layout else "")


@dataclass(frozen=True)
class TorchConstant:
    """A value that torch has a name for, such as the dtype `float32`."""

    kind: str  # dtype, device, layout, memory_format, generator, reduce_op
    name: str


@dataclass(frozen=True)
class GroupSpec:
    """The process group of a collective."""

    #: Ranks of the whole program, in the order of the group.
    ranks: tuple[int, ...]
    #: `gloo`, `nccl`: the one that serves the device of the tensors.
    backend: str


@dataclass(frozen=True)
class NodeRef:
    """In the graph of a compiled region: the result of an earlier node."""

    number: int


@dataclass(frozen=True)
class StorageSpec:
    """Memory that is no tensor yet: what a data loader's worker hands over."""

    bytes: int


@dataclass(frozen=True)
class Opaque:
    """An object that a file cannot hold: its type, or what is known of it."""

    description: str

    @property
    def obstacle(self) -> str:
        return f"a {self.description} cannot be recorded"


@dataclass(frozen=True)
class Arguments:
    """What a function, or a constructor, was called with."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> tuple[Any, ...]:
        return (*self.args, *self.kwargs.values())

    @property
    def text(self) -> str:
        """`float32[8,3], None, stride=[2, 2]`, for people."""
        named = (f"{name}={shown(value)}" for name, value in self.kwargs.items())
        return ", ".join([*map(shown, self.args), *named])


@dataclass(frozen=True)
class ModuleSpec:
    """A module: its class, and what its constructor was called with."""

    name: str
    init: Arguments = field(default_factory=Arguments)


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= max(size, 1)
    return tuple(reversed(steps))


def leaves(value: Any) -> Iterator[Any]:
    """Everything in a value that holds nothing further."""
    parts: Sequence[Any]
    if isinstance(value, (list, tuple)):
        parts = value
    elif isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, slice):
        parts = (value.start, value.stop, value.step)
    elif isinstance(value, ModuleSpec):
        parts = value.init.values
    else:
        yield value
        return
    for part in parts:
        yield from leaves(part)


def tensors_in(value: Any) -> Iterator[TensorSpec]:
    return (leaf for leaf in leaves(value) if isinstance(leaf, TensorSpec))


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with every leaf passed through `change`."""
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(part, change) for part in value)
    if isinstance(value, dict):
        return {name: mapped(part, change) for name, part in value.items()}
    if isinstance(value, slice):
        return slice(*(mapped(part, change) for part in (value.start, value.stop, value.step)))
    if isinstance(value, ModuleSpec):
        args, kwargs = mapped(value.init.args, change), mapped(value.init.kwargs, change)
        return ModuleSpec(value.name, Arguments(args, kwargs))
    return change(value)


def shown(value: Any) -> str:
    """The value as a person would write it, tensors by dtype and shape."""
    if isinstance(value, TensorSpec):
        return value.shown
    if isinstance(value, StorageSpec):
        return f"storage[{value.bytes}]"
    if isinstance(value, TorchConstant):
        return value.name
    if isinstance(value, GroupSpec):
        return f"<group of {len(value.ranks)}, {value.backend}>"
    if isinstance(value, Opaque):
        return f"<{value.description}>"
    if isinstance(value, ModuleSpec):
        return f"{value.name.rpartition('.')[2]}({value.init.text})"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {shown(part)}' for name, part in value.items())}}}"
    if isinstance(value, slice):
        return f"slice({', '.join(map(shown, (value.start, value.stop, value.step)))})"
    return "..." if value is ... else repr(value)
