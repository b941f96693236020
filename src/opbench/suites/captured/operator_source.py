"""A captured operator call as source: its arguments as they lay in memory, hot or cold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from opbench.capture.calls import OperatorCall
from opbench.capture.values import Opaque, TensorSpec, TorchConstant
from opbench.define.program import lines
from opbench.suites.captured.source import SourceWriter

#: Arguments in rotation together hold this much, so that none of them is still in a cache when
#: its turn comes again: twice the last-level cache of most machines.
COLD_BYTES = 64 << 20
#: Tiny arguments would need thousands of copies; more than this takes longer to create than to run.
MOST_COPIES = 1024


def owners_of(tensors: Sequence[TensorSpec]) -> list[int]:
    """Of each tensor: the number of the one whose memory it lies in."""
    owners: list[int] = []
    for number, spec in enumerate(tensors):
        shares = spec.alias is not None and tensors[spec.alias].dtype == spec.dtype
        owners.append(owners[spec.alias or 0] if shares else number)
    return owners


def memory_sizes(tensors: Sequence[TensorSpec], owners: Sequence[int]) -> dict[int, int]:
    """Owner → how many elements its memory needs."""
    sizes: dict[int, int] = {}
    for spec, owner in zip(tensors, owners, strict=True):
        sizes[owner] = max(sizes.get(owner, 0), spec.extent)
    return sizes


class OperatorWriter(SourceWriter):
    """Tensors with their strides and values, in shared memory where it was shared."""

    def __init__(self, tensors: Sequence[TensorSpec], device: str, captured_on: str) -> None:
        super().__init__(device)
        #: A counter on another device than the captured program's stays there.
        self.captured_on = captured_on
        self._owners = owners_of(tensors)
        self._sizes = memory_sizes(tensors, self._owners)
        self._shared = {owner for number, owner in enumerate(self._owners) if owner != number}

    def opaque(self, value: Opaque) -> str:
        return "None"  # such a call is not run; its source is only shown

    def device_for(self, recorded: str) -> str:
        same = recorded.split(":")[0] == self.captured_on.split(":")[0]
        return self.device if same else recorded

    def tensor(self, spec: TensorSpec, number: int) -> str:
        name, owner = f"x{number}", self._owners[number]
        if owner != number:
            view = f"({spec.shape!r}, {spec.steps!r}, {spec.offset!r})"
            self.lines.append(f"{name} = m{owner}.as_strided{view}")
            return name
        if spec.layout:
            self.lines.append(f"{name} = {self.sparse(spec)}")
            return name
        device = self.device_for(spec.device)
        parts = [repr(spec.shape), f"torch.{spec.dtype}"]
        if spec.strides is not None:
            parts.append(f"strides={spec.strides!r}")
        if spec.values is not None:
            parts.append(f"values={spec.values!r}")
        if device != "cpu":
            parts.append(f"device={device!r}")
        if spec.offset:
            parts.append(f"offset={spec.offset!r}")
        pinned = spec.pinned and device == "cpu" and self.device != "cpu"
        if spec.offset or number in self._shared or pinned:
            size = f"{self._sizes[number]}, dtype=torch.{spec.dtype}"
            placed = "" if device == "cpu" else f", device={device!r}"
            placed += ", pin_memory=True" if pinned else ""
            self.lines.append(f"m{number} = torch.empty({size}{placed})")
            parts.append(f"within=m{number}")
        self.lines.append(f"{name} = tensor({', '.join(parts)})")
        return name

    def sparse(self, spec: TensorSpec) -> str:
        device = self.device_for(spec.device)
        parts = ", ".join(
            f"tensor({part.shape!r}, torch.{part.dtype}, {part.strides!r}, {part.values!r}, "
            f"{device!r})"
            for part in spec.parts
        )
        return f"sparse({spec.layout!r}, {spec.shape!r}, [{parts}], {spec.coalesced!r})"


@dataclass(frozen=True)
class CallSource:
    """The pieces of one call."""

    #: Lines that create its tensors.
    lines: tuple[str, ...]
    #: Names of the tensors.
    names: tuple[str, ...]
    #: `op(x0, x1, alpha=1)`
    expression: str
    #: Names of the tensors that the call writes to.
    written: tuple[str, ...]
    #: `[x0, x1]` and `{'alpha': 1}`
    args: str
    kwargs: str
    #: Whether it never touches the GPU that the program runs on.
    on_host: bool


def source_of(call: OperatorCall, device: str = "cpu", captured_on: str = "cpu") -> CallSource:
    writer = OperatorWriter(call.tensors, device, captured_on)
    texts: dict[int | str, str] = {}
    tensors: dict[int | str, range] = {}
    given: list[tuple[int | str, Any]] = [*enumerate(call.args), *call.kwargs.items()]
    for key, value in given:
        first = len(writer.specs)
        texts[key] = writer.text(value)
        tensors[key] = range(first, len(writer.specs))
    args = [text for key, text in texts.items() if isinstance(key, int)]
    kwargs = {key: text for key, text in texts.items() if isinstance(key, str)}
    inside = [*args, *(f"{name}={text}" for name, text in kwargs.items())]
    held = [spec for spec in (*call.tensors, *call.outputs) if spec.bytes]
    return CallSource(
        lines=tuple(writer.lines),
        names=tuple(f"x{number}" for number in range(len(writer.specs))),
        expression=f"op({', '.join(inside)})",
        written=tuple(f"x{number}" for key in call.writes for number in tensors.get(key, ())),
        args=f"[{', '.join(args)}]",
        kwargs="{" + ", ".join(f"{name!r}: {text}" for name, text in kwargs.items()) + "}",
        on_host=device != "cpu" and all(writer.device_for(s.device) == "cpu" for s in held),
    )


def find_operator(call: OperatorCall) -> str:
    return f"op = operator({call.operator!r}, {call.overload!r})"


def with_operator(call: OperatorCall, text: CallSource) -> list[str]:
    """The lines that create the arguments and find what is called with them."""
    if call.graph is None:
        return [find_operator(call), *text.lines]
    nodes = json.dumps([list(node) for node in call.graph.nodes], separators=(",", ":"))
    return [
        f"nodes = json.loads({nodes!r})",
        *text.lines,
        f"op = compiled_graph(nodes, {text.args})",
    ]


def hot(call: OperatorCall, text: CallSource) -> tuple[str, str, str]:
    """(setup, untimed `before`, statement): the same arguments again and again.

    What the call writes to is put back first, or its values would drift from call to call, into
    denormals or infinities that take another time.
    """
    saved = [f"{name}_was = kept({name})" for name in text.written]
    back = [f"put_back({name}, {name}_was)" for name in text.written]
    return lines(*with_operator(call, text), *saved), lines(*back), text.expression


def cold(call: OperatorCall, text: CallSource) -> tuple[str, str, str]:
    """The same with many copies of the arguments in rotation: each comes from main memory."""
    if not text.names:
        return hot(call, text)
    held = max(1, sum(tensor.bytes for tensor in call.tensors if tensor.alias is None))
    copies = min(MOST_COPIES, max(2, -(-COLD_BYTES // held)))
    together = f"({', '.join(text.names)},)"
    body = "\n".join(f"    {line}" for line in text.lines)
    first = [find_operator(call)]
    if call.graph is not None:
        first = with_operator(call, text)
    setup = lines(
        *first,
        f"def arguments():\n{body}\n    return {together}",
        f"copies = [arguments() for _ in range({copies})]",
        "turn = itertools.cycle(copies)",
    )
    before = ""
    if text.written:
        # Put back half a round ahead: by its own turn the copy has left the caches again.
        numbers = [text.names.index(name) for name in text.written]
        setup = lines(
            setup,
            f"was = [[kept(copy[number]) for number in {numbers}] for copy in copies]",
            f"ahead = itertools.islice(itertools.cycle(zip(copies, was)), {copies // 2}, None)",
        )
        before = lines(
            "later, values = next(ahead)",
            f"for number, value in zip({numbers}, values):\n    put_back(later[number], value)",
        )
    return setup, before, lines(f"{together} = next(turn)", text.expression)


def with_dtype(call: OperatorCall, dtype: str) -> OperatorCall:
    """The call with its float32 tensors, and the dtypes it names, in another float dtype."""

    def change(value: Any) -> Any:
        if isinstance(value, TensorSpec) and value.dtype == "float32":
            return replace(value, dtype=dtype)
        if value == TorchConstant("dtype", "float32"):
            return TorchConstant("dtype", dtype)
        return value

    return call.mapped(change)


def with_layout(call: OperatorCall, layout: str) -> OperatorCall:
    """The call with its tensors laid out otherwise: all contiguous, or images channels-last."""

    def change(value: Any) -> Any:
        if not isinstance(value, TensorSpec) or value.alias is not None:
            return value
        if layout == "channels_last" and len(value.shape) == 4:
            _, c, h, w = value.shape
            return replace(value, strides=(c * h * w, 1, w * c, c))
        return replace(value, strides=None) if layout == "contiguous" else value

    return call.mapped(change)
