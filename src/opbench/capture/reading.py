"""Reads a capture: JSON Lines, each line checked before anything is made of it.

A mistake is told with the number of its line. Nothing is unpickled or evaluated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import Any

from opbench.capture.call import ITEM_SIZE, Call, Capture, Special, Step, TensorSpec, contiguous
from opbench.capture.checks import (
    LARGEST,
    NAME,
    Wrong,
    loaded,
    mapping,
    names_of,
    number,
    numbers,
    pair_of,
    phase_of,
    sequence,
    text_of,
    whole,
    written,
)
from opbench.errors import UserError

VERSION = 1

#: A name in torch's registry; what does not look like one is not even looked up.
OPERATOR = re.compile(r"([A-Za-z]\w*::[A-Za-z_]\w*)(?:\.(\w+))?", re.ASCII)
#: The only operators whose names look like Python's own: `x & y` is `aten::__and__`.
BITWISE = re.compile(r"aten::__i?(and|or|xor|lshift|rshift)__")
TENSOR = re.compile(r"(\w+)\[([\d,]*)\]", re.ASCII)
DEVICE = re.compile(r"[a-z]+(:\d+)?", re.ASCII)
STEP = re.compile(r"(\d+):([\d,]*)>([\d,]*)", re.ASCII)

#: Registered operators that read or write files: no business of a benchmark.
REFUSED = ("aten::from_file", "aten::save")

#: torch itself stops at 64 dimensions; the rest keeps a hostile file from exhausting memory here.
MOST_DIMENSIONS = 64
DEEPEST = 4
LONGEST_LINE = 1 << 26

LAYOUTS = (
    "strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged",
)  # fmt: skip
MEMORY_FORMATS = (
    "contiguous_format", "preserve_format", "channels_last", "channels_last_3d",
)  # fmt: skip


class BadCapture(UserError):
    """A file that is no capture, or a broken one."""


def read(path: Path | str) -> Capture:
    """The capture in a file, or `BadCapture` with the line that is wrong."""
    path = Path(path)
    try:
        with path.open(encoding="utf-8") as lines:
            return parse(lines, path.stem, str(path))
    except OSError as error:
        raise BadCapture(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadCapture(f"{path} is no text, so no capture of opbench") from None


def parse(lines: Iterable[str], name: str = "capture", where: str = "capture") -> Capture:
    header: dict[str, Any] | None = None
    writes: dict[str, tuple[int | str, ...]] = {}
    calls: list[Call] = []
    order: list[Step] = []
    skipped: dict[str, tuple[int, str]] = {}
    for place, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            content = loaded(line, LONGEST_LINE)
            if header is None:
                header = checked_header(content)
            elif "operator" in content:
                name_, overload = operator_of(content["operator"])
                writes[f"{name_}.{overload}"] = written(content.get("writes", []))
            elif "call" in content:
                calls.append(call_of(content, len(calls), writes))
            elif "order" in content:
                order += steps_of(content, len(calls), {c.index: c for c in calls})
            elif "skipped" in content:
                skipped[text_of(content["skipped"], "skipped")] = (
                    whole(content.get("count", 0), "count"),
                    text_of(content.get("reason", ""), "reason"),
                )
            else:
                raise Wrong("this line is neither operator, call, order nor skipped")
        except Wrong as error:
            raise BadCapture(f"{where} line {place}: {error}") from None
    if header is None:
        raise BadCapture(f"{where} is empty")
    if not calls:
        raise BadCapture(f"{where} holds no call; was anything run between its start and its end?")
    return Capture(tuple(calls), header, tuple(order), skipped, name)


def checked_header(content: dict[str, Any]) -> dict[str, Any]:
    if content.get("opbench") != "capture":
        raise Wrong('a capture begins with {"opbench": "capture", …}; this is another file')
    version = content.get("version")
    if version != VERSION:
        raise Wrong(f"written in version {version!r} of the format; this opbench reads {VERSION}")
    if content.get("level", "operators") != "operators":
        raise Wrong(f"holds the level {content['level']!r}, which cannot be replayed")
    for key in ("threads", "steps"):
        if key in content:
            whole(content[key], key, least=1)
    for key in ("sizes", "probes"):
        for axis, size in mapping(content.get(key, {}), key).items():
            if not NAME.fullmatch(axis):
                raise Wrong(f"{key}: '{axis[:40]}' is no name for an axis")
            whole(size, f"{key}: {axis}", least=1)
    for phase, seconds in mapping(content.get("phase_seconds", {}), "phase_seconds").items():
        number(seconds, f"phase_seconds: {phase}")
    if content.get("step_seconds") is not None:
        number(content["step_seconds"], "step_seconds")
    return content


def operator_of(name: Any) -> tuple[str, str]:
    """('aten::add_', 'Tensor') of `aten::add_.Tensor`, when it could be a registered name."""
    found = OPERATOR.fullmatch(name) if isinstance(name, str) and len(name) < 300 else None
    if found is None or ("__" in name and not BITWISE.fullmatch(found[1])):
        raise Wrong(f"{str(name)[:60]!r} is no operator's name; one looks like 'aten::add.Tensor'")
    if found[1] in REFUSED:
        raise Wrong(f"{found[1]} touches files and is not replayed")
    return found[1], found[2] or "default"


def call_of(
    content: dict[str, Any], index: int, writes: Mapping[str, tuple[int | str, ...]]
) -> Call:
    operator, overload = operator_of(content["call"])
    args = [argument(each) for each in sequence(content.get("args", []), "args")]
    kwargs = {}
    for name, value in mapping(content.get("kwargs", {}), "kwargs").items():
        if not NAME.fullmatch(name):
            raise Wrong(f"kwargs: '{name[:40]}' is no name of an argument")
        kwargs[name] = argument(value)
    outputs = [argument(each) for each in sequence(content.get("out", []), "out")]
    if not all(isinstance(each, TensorSpec) for each in outputs):
        raise Wrong("out: holds something that is no tensor")
    call = Call(
        index=index,
        operator=operator,
        overload=overload,
        args=tuple(args),
        kwargs=kwargs,
        writes=writes.get(f"{operator}.{overload}", ()),
        outputs=tuple(outputs),
        counts={
            phase_of(phase): whole(count, "count", least=1)
            for phase, count in mapping(content.get("count", {}), "count").items()
        },
        seconds={
            phase_of(phase): number(seconds, "seconds")
            for phase, seconds in mapping(content.get("seconds", {}), "seconds").items()
        },
        modules=names_of(content.get("modules", []), "modules"),
        apis=names_of(content.get("api", []), "api"),
        at={
            axis: tuple(pair_of(pair) for pair in sequence(pairs, "at"))
            for axis, pairs in mapping(content.get("at", {}), "at").items()
        },
    )
    for position, tensor in enumerate(call.tensors):
        if tensor.alias is not None and not 0 <= tensor.alias < position:
            raise Wrong(f"tensor {position} shares memory with tensor {tensor.alias}, a later one")
    return call


def argument(value: Any, depth: int = 0) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return text_of(value, "an argument") if isinstance(value, str) else value
    if isinstance(value, int):
        if abs(value) > LARGEST * 2:
            raise Wrong(f"the whole number {str(value)[:30]}… does not fit in 64 bits")
        return value
    if isinstance(value, float):
        return value
    if isinstance(value, list):
        if depth >= DEEPEST:
            raise Wrong("lists nested too deeply")
        return [argument(each, depth + 1) for each in value]
    if not isinstance(value, dict):
        raise Wrong(f"an argument is a {type(value).__name__}")
    if "t" in value:
        return tensor_of(value)
    if len(value) == 1:
        return special(*next(iter(value.items())))
    raise Wrong(f"an argument has the unknown keys {', '.join(map(str, value))[:80]}")


def names(kind: str, value: str) -> bool:
    """Whether this is the name of such a thing."""
    if kind in ("device", "generator"):
        return DEVICE.fullmatch(value) is not None
    known = {
        "dtype": ITEM_SIZE,
        "layout": LAYOUTS,
        "memory_format": MEMORY_FORMATS,
        "float": ("inf", "-inf", "nan"),
    }
    return value in known.get(kind, ())


def special(kind: str, value: Any) -> Special:
    if isinstance(value, str) and names(kind, value):
        return Special(kind, value)
    if kind == "complex" and isinstance(value, list) and len(value) == 2:
        return Special(kind, (number(value[0], kind), number(value[1], kind)))
    if kind == "other":
        return Special(kind, text_of(value, kind))
    raise Wrong(f"an argument is an unknown {kind[:40]}: {str(value)[:60]!r}")


def tensor_of(value: dict[str, Any]) -> TensorSpec:
    text = value["t"]
    found = TENSOR.fullmatch(text) if isinstance(text, str) and len(text) < 1000 else None
    if found is None or found[1] not in ITEM_SIZE:
        raise Wrong(f"{str(text)[:60]!r} is no tensor; one looks like 'float32[8,3,96,96]'")
    shape = numbers(found[2])
    strides = value.get("s")
    if strides is not None:
        strides = tuple(whole(step, "a stride") for step in sequence(strides, "s"))
        if len(strides) != len(shape):
            raise Wrong(f"{text} has {len(strides)} strides")
        if strides == contiguous(shape):
            strides = None
    device = value.get("d", "cpu")
    if not isinstance(device, str) or not DEVICE.fullmatch(device):
        raise Wrong(f"{str(device)[:40]!r} is no device")
    alias = value.get("a")
    spec = TensorSpec(
        dtype=found[1],
        shape=shape,
        strides=strides,
        offset=whole(value.get("o", 0), "an offset"),
        alias=None if alias is None else whole(alias, "alias"),
        device=device,
        values=values_of(value.get("v"), found[1], shape),
    )
    if len(shape) > MOST_DIMENSIONS or spec.extent > LARGEST or prod(shape) > LARGEST:
        raise Wrong(f"{text[:60]} is larger than any memory")
    return spec


def values_of(value: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    """A regime of floats as a list of numbers; whole numbers as one of a few objects."""
    if value is None:
        return None
    if isinstance(value, list):
        if not 2 <= len(value) <= 7:
            raise Wrong("values of a float tensor are 2 to 7 numbers")
        return tuple(number(each, "values") for each in value)
    content = mapping(value, "values")
    known = {"is", "bits", "all", "from", "by", "lo", "hi", "sorted", "distinct", "true"}
    if set(content) - known:
        raise Wrong(f"values: unknown {', '.join(sorted(set(content) - known))[:80]}")
    if "is" in content:
        listed = [whole(each, "values", least=None) for each in sequence(content["is"], "values")]
        if len(listed) != prod(shape):
            raise Wrong(f"{len(listed)} values for a tensor of {prod(shape)}")
        return {"is": listed}
    if "bits" in content:
        bits = content["bits"]
        if not isinstance(bits, str) or set(bits) - {"0", "1"} or len(bits) != prod(shape):
            raise Wrong(f"bits: as many 0 and 1 as the tensor has elements, {prod(shape)}")
        return {"bits": bits}
    for key in ("all", "from", "by", "lo", "hi"):
        if key in content:
            whole(content[key], f"values: {key}", least=None)
    for key in ("distinct", "true"):
        if key in content:
            number(content[key], f"values: {key}")
    if content.get("sorted") not in (None, "up", "down"):
        raise Wrong("values: sorted is 'up' or 'down'")
    return content


def steps_of(content: dict[str, Any], calls: int, known: Mapping[int, Call]) -> list[Step]:
    text, phases = content["order"], sequence(content.get("phases", []), "phases")
    if not isinstance(text, str):
        raise Wrong("order is text")
    words, spans = text.split(), list[str]()
    for pair in phases:
        if not isinstance(pair, list) or len(pair) != 2:
            raise Wrong("phases are pairs of a phase and a number of calls")
        left = len(words) - len(spans)
        spans += [phase_of(pair[0])] * min(whole(pair[1], "phases"), left + 1)
    if len(spans) != len(words):
        raise Wrong(f"order has {len(words)} calls, its phases {len(spans)}")
    found = []
    for word, phase in zip(words, spans):
        match = STEP.fullmatch(word)
        if match is None:
            raise Wrong(f"order: {word[:40]!r} is no CALL:READS>MAKES")
        index = numbers(match[1])[0]
        if index >= calls:
            raise Wrong(f"order names call {index}, and there are {calls}")
        reads = numbers(match[2])
        if len(reads) != len(known[index].tensors):
            raise Wrong(f"order: call {index} reads {len(known[index].tensors)} tensors")
        found.append(Step(index, reads, numbers(match[3]), phase))
    return found


def schemas(path: Path | str) -> dict[str, str]:
    """The schemas that a capture tells of its operators."""
    found = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        content = json.loads(line)
        if "operator" in content and "schema" in content:
            found[content["operator"]] = content["schema"]
    return found
