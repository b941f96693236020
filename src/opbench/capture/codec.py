"""Values as JSON and back. Files come from anywhere, so reading checks every part.

The files of operators and of Python calls spell a tensor with other keys, and are otherwise alike:
`{"t": "float32[8,3]", "v": [-3.1, 3.2, 0.0, 1.0]}`, `{"tensor": "float32[8,3]", "grad": true}`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite, prod
from typing import Any

from opbench.capture.checks import (
    LARGEST,
    NAME,
    Wrong,
    label_of,
    mapping,
    number,
    numbers,
    sequence,
    text_of,
    whole,
)
from opbench.capture.contents.decoding import values_of
from opbench.capture.values import (
    Arguments,
    GroupSpec,
    ModuleSpec,
    NodeRef,
    Opaque,
    StorageSpec,
    TensorSpec,
    TorchConstant,
    contiguous,
)
from opbench.define.program import ITEM_SIZE

TENSOR = re.compile(r"(\w+)\[([\d,]*)\]", re.ASCII)
#: Every dtype of torch is spelled so, and nothing else that torch has: `torch.save` is no dtype.
DTYPE = re.compile(r"(q?u?int|b?float|complex|bits)\d\w*", re.ASCII)
DEVICE = re.compile(r"[a-z]+(:\d+)?", re.ASCII)
#: `torch.nn.functional.relu`, `app.kernels:fused`; nothing else gets anywhere near source text.
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_<]\w*>?)*(:[A-Za-z_][\w.<>]*)?", re.ASCII)

LAYOUTS = (
    "strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged",
    "_mkldnn",
)  # fmt: skip
MEMORY_FORMATS = (
    "contiguous_format", "preserve_format", "channels_last", "channels_last_3d",
)  # fmt: skip
#: Sparse layout → its parts: indices and values; or two kinds of indices, and values.
SPARSE_PARTS = {
    "sparse_coo": 2, "sparse_csr": 3, "sparse_csc": 3, "sparse_bsr": 3, "sparse_bsc": 3,
}  # fmt: skip
#: What a collective does with the tensors of the ranks.
REDUCE_OPS = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM")
CONSTANTS = ("dtype", "device", "layout", "memory_format", "generator", "reduce_op")
NOT_FINITE = ("inf", "-inf", "nan")

#: torch itself stops at 64 dimensions; the rest keeps a hostile file from exhausting memory here.
MOST_DIMENSIONS = 64
#: More than the largest clusters have.
MOST_RANKS = 1 << 20


@dataclass(frozen=True)
class Codec:
    """The keys of a tensor in one kind of file, and what is allowed there."""

    tensor: str
    strides: str
    device: str
    opaque: str
    #: Lists within lists.
    deepest: int
    #: Whether a dtype that cannot be created anew is a value, or a mistake.
    any_dtype: bool = False
    #: Whether integers are kept as `range`, two numbers, rather than as `v`.
    ranges: bool = False
    #: Whether a value may be the result of a node of the same graph.
    nodes: bool = False

    # -- writing ---------------------------------------------------------------------------

    def encode(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.encode(part) for part in value]
        if isinstance(value, tuple):
            return {"tuple": [self.encode(part) for part in value]}
        if isinstance(value, TensorSpec):
            return self._encode_tensor(value)
        if isinstance(value, NodeRef):
            return {"node": value.number}
        if isinstance(value, StorageSpec):
            return {"storage": value.bytes}
        if isinstance(value, TorchConstant):
            return {value.kind: value.name}
        if isinstance(value, GroupSpec):
            return {"group": list(value.ranks), "backend": value.backend}
        if isinstance(value, dict):
            return {"dict": [[name, self.encode(part)] for name, part in value.items()]}
        if isinstance(value, slice):
            return {"slice": [self.encode(e) for e in (value.start, value.stop, value.step)]}
        if value is ...:
            return {"ellipsis": True}
        if isinstance(value, Opaque):
            return {self.opaque: value.description}
        if isinstance(value, ModuleSpec):
            return {"module": value.name, "init": self.encode_arguments(value.init)}
        if isinstance(value, complex):
            return {"complex": [p if isfinite(p) else str(p) for p in (value.real, value.imag)]}
        if isinstance(value, float) and not isfinite(value):
            return {"float": str(value)}
        return value

    def encode_arguments(self, given: Arguments) -> dict[str, Any]:
        return {
            "args": [self.encode(value) for value in given.args],
            "kwargs": {name: self.encode(value) for name, value in given.kwargs.items()},
        }

    def _encode_tensor(self, spec: TensorSpec) -> dict[str, Any]:
        line: dict[str, Any] = {self.tensor: spec.text}
        if spec.layout:
            line["layout"] = spec.layout
        if spec.parts:
            line["parts"] = [self._encode_tensor(part) for part in spec.parts]
        if spec.coalesced:
            line["coalesced"] = True
        if spec.strides is not None:
            line[self.strides] = list(spec.strides)
        if spec.offset:
            line["o"] = spec.offset
        if spec.alias is not None:
            line["a"] = spec.alias
        if spec.device != "cpu":
            line[self.device] = spec.device
        if spec.pinned:
            line["pinned"] = True
        if spec.grad:
            line["grad"] = True
        values = spec.values
        if values is not None and self.ranges:
            line["range"] = list(spec.bounds)
        elif values is not None:
            line["v"] = list(values) if isinstance(values, tuple) else values
        return line

    # -- reading ---------------------------------------------------------------------------

    def decode(self, value: Any, depth: int = 0) -> Any:
        """The value, or `Wrong` where the recorder would never have written it."""
        if value is None or isinstance(value, (bool, float)):
            return value
        if isinstance(value, str):
            return text_of(value, "an argument")
        if isinstance(value, int):
            if abs(value) > LARGEST * 4:
                raise Wrong(f"the integer {str(value)[:30]}… does not fit in 64 bits")
            return value
        if depth >= self.deepest:
            raise Wrong("an argument is nested too deeply")
        if isinstance(value, list):
            return [self.decode(part, depth + 1) for part in value]
        if not isinstance(value, dict) or not value:
            raise Wrong(f"{str(value)[:60]!r} is not an argument")
        if self.tensor in value:
            return self._decode_tensor(value)
        kind = next(iter(value))
        return self._decode_kind(kind, value[kind], value, depth)

    def _decode_kind(self, kind: str, content: Any, value: dict[str, Any], depth: int) -> Any:
        if kind in CONSTANTS:
            if isinstance(content, str) and self._is_constant(kind, content):
                return TorchConstant(kind, content)
            raise Wrong(f"unknown {kind} {str(content)[:60]!r}")
        if kind == self.opaque:
            return Opaque(label_of(content, kind))
        if kind == "node" and self.nodes:
            return NodeRef(whole(content, kind))
        if kind == "storage":
            return StorageSpec(whole(content, kind))
        if kind == "group":
            return group_of(content, value.get("backend"))
        if kind == "float":
            return float_of(content, kind)
        if kind == "complex":
            if len(sequence(content, kind)) != 2:
                raise Wrong("complex: expected two numbers")
            return complex(*(float_of(part, kind) for part in content))
        if kind == "tuple":
            return tuple(self.decode(part, depth + 1) for part in sequence(content, kind))
        if kind == "slice":
            if len(sequence(content, kind)) != 3:
                raise Wrong("slice: expected start, stop and step")
            return slice(*(self.decode(part, depth + 1) for part in content))
        if kind == "ellipsis":
            return ...
        if kind == "dict":
            for pair in sequence(content, kind):
                if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
                    raise Wrong("dict: expected pairs of a name and a value")
            return {name: self.decode(part, depth + 1) for name, part in content}
        if kind == "module":
            init = self.decode_arguments(value.get("init", {}), "init", depth + 1)
            return ModuleSpec(dotted(content, kind), init)
        raise Wrong(f"an argument is of the unknown kind {kind[:40]!r}")

    def decode_arguments(self, value: Any, what: str = "", depth: int = 0) -> Arguments:
        """The `args` and `kwargs` of a line."""
        content = mapping(value, what)
        args = sequence(content.get("args", []), "args")
        kwargs = mapping(content.get("kwargs", {}), "kwargs")
        for name in kwargs:
            if not NAME.fullmatch(name):
                raise Wrong(f"kwargs: {name[:40]!r} is not the name of an argument")
        return Arguments(
            tuple(self.decode(part, depth) for part in args),
            {name: self.decode(part, depth) for name, part in kwargs.items()},
        )

    def _is_constant(self, kind: str, name: str) -> bool:
        if kind == "dtype":
            return self._is_dtype(name)
        if kind == "layout":
            return name in LAYOUTS
        if kind == "memory_format":
            return name in MEMORY_FORMATS
        if kind == "reduce_op":
            return name in REDUCE_OPS
        return DEVICE.fullmatch(name) is not None

    def _is_dtype(self, name: str) -> bool:
        return name in ITEM_SIZE or (self.any_dtype and DTYPE.fullmatch(name) is not None)

    def _decode_tensor(self, value: dict[str, Any]) -> TensorSpec:
        text = value[self.tensor]
        found = TENSOR.fullmatch(text) if isinstance(text, str) and len(text) < 1000 else None
        if found is None or not self._is_dtype(found[1]):
            raise Wrong(f"{str(text)[:60]!r} is not a tensor; one looks like 'float32[8,3,96,96]'")
        shape = numbers(found[2])
        strides = value.get(self.strides)
        if strides is not None:
            strides = tuple(whole(step, "a stride") for step in sequence(strides, "strides"))
            if len(strides) != len(shape):
                raise Wrong(f"{text} has {len(strides)} strides; expected one per dimension")
            if strides == contiguous(shape):
                strides = None
        device = value.get(self.device, "cpu")
        layout = value.get("layout", "")
        if not isinstance(device, str) or not DEVICE.fullmatch(device):
            raise Wrong(f"unknown device {str(device)[:40]!r}")
        if layout and layout not in LAYOUTS:
            raise Wrong(f"unknown layout {str(layout)[:40]!r}")
        parts = [self._decode_part(part) for part in sequence(value.get("parts", []), "parts")]
        if parts and len(parts) != SPARSE_PARTS.get(layout):
            raise Wrong(
                f"a tensor of layout {layout or 'strided'} does not have {len(parts)} parts"
            )
        alias = value.get("a")
        spec = TensorSpec(
            dtype=found[1],
            shape=shape,
            strides=strides,
            offset=whole(value.get("o", 0), "an offset"),
            alias=None if alias is None else whole(alias, "alias"),
            device=device,
            values=range_of(value) if self.ranges else values_of(value.get("v"), found[1], shape),
            grad=bool(value.get("grad", False)),
            pinned=bool(value.get("pinned", False)),
            layout=layout,
            parts=tuple(parts),
            coalesced=bool(value.get("coalesced", False)),
        )
        if len(shape) > MOST_DIMENSIONS or spec.extent > LARGEST or prod(shape) > LARGEST:
            raise Wrong(f"{text[:60]} is larger than any memory")
        return spec

    def _decode_part(self, value: Any) -> TensorSpec:
        content = mapping(value, "parts")
        if self.tensor not in content or "parts" in content or content.get("layout"):
            raise Wrong("parts: expected strided tensors only")
        return self._decode_tensor(content)


OPERATORS = Codec("t", "s", "d", opaque="other", deepest=4)
GRAPHS = Codec("t", "s", "d", opaque="other", deepest=6, nodes=True)
API = Codec("tensor", "strides", "device", opaque="object", deepest=20, any_dtype=True, ranges=True)


def dotted(name: Any, what: str) -> str:
    if not isinstance(name, str) or len(name) > 300 or not DOTTED.fullmatch(name):
        raise Wrong(f"{what}: {str(name)[:60]!r} is not a name such as 'torch.nn.functional.relu'")
    return name


def group_of(ranks: Any, backend: Any) -> GroupSpec:
    found = tuple(whole(rank, "group") for rank in sequence(ranks, "group"))
    if not found or len(found) > MOST_RANKS or len(set(found)) < len(found):
        raise Wrong("group: expected one or more ranks, each once")
    if not isinstance(backend, str) or len(backend) > 40 or not NAME.fullmatch(backend):
        raise Wrong(f"unknown backend {str(backend)[:40]!r}")
    return GroupSpec(found, backend)


def float_of(value: Any, what: str) -> float:
    """A number, or the text of one: JSON itself has no infinities."""
    if not isinstance(value, str):
        return number(value, what)
    try:
        return float(value[:40])
    except ValueError:
        raise Wrong(f"{what}: {value[:40]!r} is not a number") from None


def range_of(value: dict[str, Any]) -> dict[str, int] | None:
    ends = value.get("range")
    if ends is None:
        return None
    low_high = [whole(end, "range", least=None) for end in sequence(ends, "range")]
    if len(low_high) != 2 or low_high[0] > low_high[1]:
        raise Wrong("range: expected the least and the greatest value")
    return {"lo": low_high[0], "hi": low_high[1]}
