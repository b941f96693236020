"""A captured call as source: the text that makes its arguments, and the call itself.

Everything that came from a file is checked by `reading` and enters the text through `repr`, so
that a name can only ever be a name and a number a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from opbench.capture.call import Call, Special, TensorSpec, mapped
from opbench.define.program import lines

#: Arguments in rotation together hold this much, so that none of them is still in a cache when
#: its turn comes again: twice the last-level cache of most machines.
COLD_BYTES = 64 << 20
#: Tiny arguments would need thousands of copies; more than this takes longer to make than to run.
MOST_COPIES = 1024


@dataclass
class Names:
    """Numbers the tensors of one call, in the order of their appearance."""

    device: str
    #: The device that the captured program ran on; a counter on another one stays there.
    home: str
    made: list[str] = field(default_factory=list)
    specs: list[TensorSpec] = field(default_factory=list)
    _numbers: dict[int, str] = field(default_factory=dict)

    def text(self, argument: Any) -> str:
        """The argument as an expression; a tensor becomes a name, and a line in `made`."""
        if isinstance(argument, TensorSpec):
            return self._tensor(argument)
        if isinstance(argument, (list, tuple)):
            return f"[{', '.join(self.text(each) for each in argument)}]"
        if isinstance(argument, Special):
            return self._special(argument)
        return repr(argument)

    def place(self, device: str) -> str:
        return self.device if device.split(":")[0] == self.home.split(":")[0] else device

    def _special(self, argument: Special) -> str:
        kind, value = argument.kind, argument.value
        if kind in ("dtype", "layout", "memory_format"):
            return f"torch.{value}"
        if kind == "device":
            return f"torch.device({self.place(value)!r})"
        if kind == "float":
            return f"float({value!r})"
        if kind == "complex":
            return f"complex({value[0]!r}, {value[1]!r})"
        return "None"  # a generator: the default one draws the numbers

    def _tensor(self, spec: TensorSpec) -> str:
        number = len(self.specs)
        name = f"x{number}"
        self.specs.append(spec)
        self._numbers[number] = name
        within = f"m{self._owner(number)}" if spec.alias is not None or spec.offset else ""
        if spec.alias is not None and self.specs[spec.alias].dtype == spec.dtype:
            self.made.append(
                f"{name} = {within}.as_strided({spec.shape!r}, {spec.steps!r}, {spec.offset!r})"
            )
            return name
        parts = [repr(spec.shape), f"torch.{spec.dtype}"]
        if spec.strides is not None:
            parts.append(f"strides={spec.strides!r}")
        if spec.values is not None:
            parts.append(f"values={spec.values!r}")
        if self.place(spec.device) != "cpu":
            parts.append(f"device={self.place(spec.device)!r}")
        if spec.offset:
            parts.append(f"offset={spec.offset!r}")
        if spec.offset or number in self._shared:
            where = "" if self.place(spec.device) == "cpu" else f", {parts[-1 - bool(spec.offset)]}"
            size = self._sizes[self._owner(number)]
            self.made.append(f"m{number} = torch.empty({size}, dtype=torch.{spec.dtype}{where})")
            parts.append(f"within=m{number}")
        self.made.append(f"{name} = tensor({', '.join(parts)})")
        return name

    _shared: set[int] = field(default_factory=set)
    _sizes: dict[int, int] = field(default_factory=dict)
    _owners: dict[int, int] = field(default_factory=dict)

    def _owner(self, number: int) -> int:
        return self._owners.get(number, number)

    def expect(self, tensors: Sequence[TensorSpec]) -> None:
        """Learn beforehand which tensors share memory, and how much of it they need together."""
        for number, spec in enumerate(tensors):
            owner = number
            if spec.alias is not None and tensors[spec.alias].dtype == spec.dtype:
                owner = self._owners.get(spec.alias, spec.alias)
                self._shared.add(owner)
            self._owners[number] = owner
            self._sizes[owner] = max(self._sizes.get(owner, 0), spec.extent)


@dataclass(frozen=True)
class CallSource:
    """The pieces of one call."""

    #: Lines that make its tensors.
    made: tuple[str, ...]
    #: Names of the tensors.
    names: tuple[str, ...]
    #: `op(x0, x1, alpha=1)`
    expression: str
    #: Names of the tensors that the call writes to.
    written: tuple[str, ...]
    #: `[x0, x1]` and `{'alpha': 1}`
    args: str
    kwargs: str


def source_of(call: Call, device: str = "cpu", home: str = "cpu") -> CallSource:
    names = Names(device, home)
    names.expect(call.tensors)
    args: list[str] = []
    kwargs: dict[str, str] = {}
    spans: dict[int | str, tuple[int, int]] = {}
    for position, argument in enumerate(call.args):
        first = len(names.specs)
        args.append(names.text(argument))
        spans[position] = (first, len(names.specs))
    for name, value in call.kwargs.items():
        first = len(names.specs)
        kwargs[name] = names.text(value)
        spans[name] = (first, len(names.specs))
    written = [f"x{number}" for key in call.writes if key in spans for number in range(*spans[key])]
    inside = [*args, *(f"{name}={text}" for name, text in kwargs.items())]
    return CallSource(
        made=tuple(names.made),
        names=tuple(f"x{number}" for number in range(len(names.specs))),
        expression=f"op({', '.join(inside)})",
        written=tuple(written),
        args=f"[{', '.join(args)}]",
        kwargs="{" + ", ".join(f"{name!r}: {text}" for name, text in kwargs.items()) + "}",
    )


def find_operator(call: Call) -> str:
    return f"op = operator({call.operator!r}, {call.overload!r})"


def hot(call: Call, text: CallSource) -> tuple[str, str, str]:
    """(setup, untimed `before`, statement): the same arguments again and again.

    What the call writes to is put back first, or its values would drift from call to call, into
    denormals or infinities that take another time.
    """
    saved = [f"{name}_was = {name}.clone()" for name in text.written]
    back = [f"{name}.copy_({name}_was)" for name in text.written]
    return lines(find_operator(call), *text.made, *saved), lines(*back), text.expression


def cold(call: Call, text: CallSource) -> tuple[str, str, str]:
    """The same with many copies of the arguments in rotation: each comes from main memory."""
    if not text.names:
        return hot(call, text)
    held = max(1, sum(tensor.bytes for tensor in call.tensors if tensor.alias is None))
    copies = min(MOST_COPIES, max(2, -(-COLD_BYTES // held)))
    together = f"({', '.join(text.names)},)"
    body = "\n".join(f"    {line}" for line in text.made)
    setup = lines(
        find_operator(call),
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
            f"was = [copies[0][number].clone() for number in {numbers}]",
            f"ahead = itertools.islice(itertools.cycle(copies), {copies // 2}, None)",
        )
        before = lines(
            "later = next(ahead)",
            f"for number, value in zip({numbers}, was):\n    later[number].copy_(value)",
        )
    return setup, before, lines(f"{together} = next(turn)", text.expression)


def with_dtype(call: Call, dtype: str) -> Call:
    """The call with its float32 tensors, and the dtypes it names, in another float dtype."""

    def change(argument: Any) -> Any:
        if isinstance(argument, TensorSpec) and argument.dtype == "float32":
            return replace(argument, dtype=dtype)
        if argument == Special("dtype", "float32"):
            return Special("dtype", dtype)
        return argument

    return changed(call, change)


def with_layout(call: Call, layout: str) -> Call:
    """The call with its tensors laid out otherwise: all contiguous, or images channels-last."""

    def change(argument: Any) -> Any:
        if not isinstance(argument, TensorSpec) or argument.alias is not None:
            return argument
        if layout == "channels_last" and len(argument.shape) == 4:
            _, c, h, w = argument.shape
            return replace(argument, strides=(c * h * w, 1, w * c, c))
        return replace(argument, strides=None) if layout == "contiguous" else argument

    return changed(call, change)


def changed(call: Call, change: Any) -> Call:
    return replace(
        call,
        args=tuple(mapped(each, change) for each in call.args),
        kwargs={name: mapped(value, change) for name, value in call.kwargs.items()},
        outputs=tuple(mapped(each, change) for each in call.outputs),
    )
