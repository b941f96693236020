"""Recorded values as source: expressions, and the lines that create their tensors anew.

Everything that came from a file was checked by `capture.codec` and enters the text through `repr`,
so that a name can only ever be a name and a number a number.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from opbench.capture.values import (
    Arguments,
    GroupSpec,
    ModuleSpec,
    Opaque,
    StorageSpec,
    TensorSpec,
    TorchConstant,
)


class NotReplayable(Exception):
    """Why a call cannot be replayed."""


class SourceWriter:
    """Writes the arguments of one call; each tensor becomes a variable, in order of appearance.

    How a tensor is created is for the level of the capture to say: as it lay in memory, or by its
    shape alone.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        #: Lines that create the tensors.
        self.lines: list[str] = []
        self.specs: list[TensorSpec] = []

    def tensor(self, spec: TensorSpec, number: int) -> str:
        """Add the lines that create a tensor; gives its variable."""
        raise NotImplementedError

    def module(self, spec: ModuleSpec) -> str:
        raise NotImplementedError

    def opaque(self, value: Opaque) -> str:
        raise NotReplayable(value.obstacle)

    def device_for(self, recorded: str) -> str:
        """The device that stands for a recorded one."""
        return self.device

    def quoted(self, text: str) -> str:
        return repr(text)

    def text(self, value: Any) -> str:
        """The value as an expression."""
        if isinstance(value, TensorSpec):
            self.specs.append(value)
            return self.tensor(value, len(self.specs) - 1)
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, tuple):
            return "(" + "".join(f"{self.text(part)}, " for part in value).rstrip() + ")"
        if isinstance(value, dict):
            pairs = (f"{name!r}: {self.text(part)}" for name, part in value.items())
            return f"{{{', '.join(pairs)}}}"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self.text, (value.start, value.stop, value.step)))})"
        if isinstance(value, StorageSpec):
            return f"torch.UntypedStorage({value.bytes}, device={self.device!r})"
        if isinstance(value, TorchConstant):
            return self._constant(value)
        if isinstance(value, GroupSpec):
            return self.opaque(Opaque("process group"))
        if isinstance(value, ModuleSpec):
            return self.module(value)
        if isinstance(value, float) and not isfinite(value):
            return f"float({self.quoted(str(value))})"
        if isinstance(value, complex):
            return f"complex({self.text(value.real)}, {self.text(value.imag)})"
        return self.opaque(value) if isinstance(value, Opaque) else repr(value)

    def arguments(self, given: Arguments) -> str:
        """`x0, 3, alpha=1`"""
        named = (f"{name}={self.text(value)}" for name, value in given.kwargs.items())
        return ", ".join([*map(self.text, given.args), *named])

    def _constant(self, value: TorchConstant) -> str:
        if value.kind == "device":
            return f"torch.device({self.quoted(self.device_for(value.name))})"
        if value.kind == "reduce_op":
            return f"torch.distributed.ReduceOp.{value.name}"
        # Without a generator, the default one draws the numbers.
        return "None" if value.kind == "generator" else f"torch.{value.name}"
