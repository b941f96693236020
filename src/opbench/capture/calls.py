"""What a capture holds: unique calls, how often each occurred, and in which order.

Plain data, read from a file that anybody may have written: nothing in it is ever executed but
operators and functions looked up by name in torch's registries, with arguments created anew from
their description.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from opbench.capture.compiled.graph import Graph
from opbench.capture.values import (
    Arguments,
    GroupSpec,
    Opaque,
    TensorSpec,
    leaves,
    mapped,
    tensors_in,
)

#: Namespaces of operators that talk to other ranks.
COLLECTIVES = ("c10d", "_c10d_functional", "_c10d_functional_autograd", "_dtensor")

#: Operators of which the two ranks of a message call one each.
POINT_TO_POINT = (
    "c10d::send", "c10d::recv_", "c10d::recv_any_source_", "_c10d_functional::isend",
    "_c10d_functional::irecv", "_c10d_functional::batch_p2p_ops",
)  # fmt: skip

#: Why calls of a module were not recorded.
NOT_THE_MODEL = "a module with fewer parameters than the model"

#: In the order in which a training step runs through them.
PHASES = ("data", "forward", "backward", "optimizer")


@dataclass(frozen=True)
class OperatorCall:
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
    #: The tensors it returned, by dtype and shape.
    outputs: tuple[TensorSpec, ...] = ()
    #: Phase → calls in the captured window.
    counts: Mapping[str, int] = field(default_factory=dict)
    #: Phase → seconds in the captured window, when captured with timing.
    seconds: Mapping[str, float] = field(default_factory=dict)
    #: Phase → seconds in the captured window until a collective was complete, where the recording
    #: waited for it: the call itself returns before that.
    awaited_seconds: Mapping[str, float] = field(default_factory=dict)
    #: Phase → seconds that the GPU worked for it in the captured window; of all calls of a capture
    #: on a GPU, zeros included, or of none.
    device_seconds: Mapping[str, float] = field(default_factory=dict)
    #: The first modules it was called in, and how many there were beside them.
    modules: tuple[str, ...] = ()
    more_modules: int = 0
    #: The Python functions behind it, or the autograd node.
    apis: tuple[str, ...] = ()
    #: Axis → (position among `scale.integers`, its value at that axis' probe), where it differs.
    at: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    #: Of a compiled region: what it computes.
    graph: Graph | None = None

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    @property
    def time(self) -> float:
        """What it costs the step: on a GPU, of the GPU's time."""
        return sum((self.device_seconds or self.seconds).values())

    @property
    def qualified(self) -> str:
        return self.operator + ("" if self.overload == "default" else f".{self.overload}")

    @property
    def name(self) -> str:
        """`add_.Tensor-017`: the operator, and the position of the call in its file."""
        space, _, base = self.qualified.partition("::")
        return f"{'' if space == 'aten' else space + '.'}{base}-{self.index:03d}"

    @property
    def given(self) -> Arguments:
        return Arguments(self.args, self.kwargs)

    @cached_property
    def tensors(self) -> tuple[TensorSpec, ...]:
        return tuple(tensors_in(self.given.values))

    @property
    def dense(self) -> bool:
        """Whether all its tensors are strided: what a sparse one costs depends on its values."""
        return not any(tensor.layout for tensor in self.tensors)

    @property
    def compiled(self) -> bool:
        return self.graph is not None

    @property
    def collective(self) -> bool:
        return self.operator.partition("::")[0] in COLLECTIVES

    @property
    def group(self) -> GroupSpec | None:
        """The process group of a collective; older files do not have it."""
        groups = (value for value in leaves(self.given.values) if isinstance(value, GroupSpec))
        return next(groups, None)

    @property
    def in_place(self) -> bool:
        return bool(self.writes)

    @property
    def obstacle(self) -> str:
        """Why it cannot be replayed, as far as its description tells; empty when it can."""
        if self.graph is not None and self.graph.reason:
            return self.graph.reason
        if self.collective:
            return "a collective needs the other ranks: opbench collectives"
        opaque = (value for value in leaves(self.given.values) if isinstance(value, Opaque))
        return next((value.obstacle for value in opaque), "")

    def mapped(self, change: Callable[[Any], Any]) -> OperatorCall:
        """The call with everything in its arguments and results passed through `change`."""
        return replace(
            self,
            args=mapped(self.args, change),
            kwargs=mapped(dict(self.kwargs), change),
            outputs=mapped(self.outputs, change),
        )

    def signature(self) -> str:
        """`(float32[8,3,96,96], float32[64,3,7,7], None, [2, 2])`, for people."""
        return f"({self.given.text})"


@dataclass(frozen=True)
class Step:
    """One call of the captured step in order, with the storages it read and created."""

    call: int
    #: One number per tensor argument: equal numbers are the same memory.
    reads: tuple[int, ...] = ()
    #: One number per tensor it returned.
    makes: tuple[int, ...] = ()
    phase: str = "forward"


@dataclass(frozen=True)
class Capture:
    """The operator calls of a whole file."""

    calls: tuple[OperatorCall, ...]
    #: Facts of the first line: torch, threads, window, step_seconds, …
    header: Mapping[str, Any] = field(default_factory=dict)
    order: tuple[Step, ...] = ()
    #: Calls seen but not described, by name: how many, and the reason.
    skipped: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    #: Name of the file without its folder and ending.
    name: str = "capture"
    #: Qualified name of an operator → its schema.
    schemas: Mapping[str, str] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """Training steps (or calls of the model) in the captured window."""
        return max(1, int(self.header.get("steps") or 1))

    @property
    def threads(self) -> int:
        return int(self.header.get("threads") or 1)

    @property
    def device(self) -> str:
        return str(self.header.get("device") or "cpu")

    @property
    def device_busy(self) -> float:
        """Seconds of a step in which the GPU worked; zero where that is not known."""
        return float(self.header.get("device_seconds") or 0.0)

    @property
    def device_unrecorded(self) -> float:
        """Seconds of a step in which the GPU ran kernels that no recorded operator launched."""
        return float(self.header.get("device_unrecorded_seconds") or 0.0)

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


@dataclass(frozen=True)
class ApiCall:
    """One unique call from Python: of a module, a function, or a method of a tensor."""

    #: Position in the file, from 0: part of its name.
    index: int
    kind: str
    #: `torch.nn.modules.linear.Linear`, `torch.nn.functional.relu`, `app.kernels:fused`
    name: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    #: Of a module: the arguments of its constructor, and whether they were seen or read from
    #: attributes.
    init: Arguments = field(default_factory=Arguments)
    init_from: str = "constructor"
    training: bool = True
    out: Any = None
    count: int = 1
    #: Names of the modules it was called in.
    inside: tuple[str, ...] = ()

    @property
    def given(self) -> Arguments:
        return Arguments(self.args, self.kwargs)

    @property
    def short(self) -> str:
        """`Linear`, `relu`, `view`."""
        return re.split(r"[.:]", self.name)[-1]
