"""Reads the API-level view of a program: one unique Python call per line, checked line by line.

Nothing is evaluated. Names are held to be names here, and looked up later, in the process that
replays a call, among torch's own modules and overridable functions only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opbench.capture.checks import LARGEST, Wrong, loaded
from opbench.errors import UserError

VERSION = 1
KINDS = ("module", "function", "method", "named")

#: Dotted words; nothing else gets anywhere near source text.
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_<]\w*>?)*(:[A-Za-z_][\w.<>]*)?", re.ASCII)
WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
TENSOR = re.compile(r"(\w+)\[([\d,]*)\]", re.ASCII)
DEVICE = re.compile(r"[a-z]+(:\d+)?", re.ASCII)

LONGEST_LINE = 1 << 22
MOST_DIMENSIONS = 64


class BadApiCapture(UserError):
    """A file that is no such capture, or a broken one."""


@dataclass(frozen=True)
class ApiCall:
    #: Position in the file, from 0: part of its name.
    index: int
    kind: str
    #: `torch.nn.modules.linear.Linear`, `torch.nn.functional.relu`, `app.kernels:fused`
    name: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    #: For a module: what it was made with, and whether that was seen or read from attributes.
    init: Mapping[str, Any] = field(default_factory=dict)
    init_from: str = "constructor"
    training: bool = True
    out: Any = None
    count: int = 1
    #: Names of the modules it was called in.
    inside: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """`Linear`, `relu`, `view`."""
        return re.split(r"[.:]", self.name)[-1]


def level_of(path: Path | str) -> str:
    """The level that a capture names in its first line; empty when it is no capture."""
    try:
        with Path(path).open(encoding="utf-8") as lines:
            first = json.loads(lines.readline(LONGEST_LINE))
    except (OSError, ValueError, RecursionError):
        return ""
    if not isinstance(first, dict) or first.get("opbench") != "capture":
        return ""
    return str(first.get("level", "operators"))


def read(path: Path | str) -> list[ApiCall]:
    """The calls of a file, or `BadApiCapture` with the line that is wrong."""
    path = Path(path)
    try:
        with path.open(encoding="utf-8") as lines:
            return parse(lines, str(path))
    except OSError as error:
        raise BadApiCapture(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadApiCapture(f"{path} is no text, so no capture of opbench") from None


def parse(lines: Iterable[str], where: str = "capture") -> list[ApiCall]:
    header: dict[str, Any] | None = None
    calls: list[ApiCall] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            content = loaded(line, LONGEST_LINE)
            if header is None:
                header = checked_header(content)
            else:
                calls.append(call_of(content, len(calls)))
        except Wrong as error:
            raise BadApiCapture(f"{where} line {number}: {error}") from None
    if header is None:
        raise BadApiCapture(f"{where} is empty")
    if not calls:
        raise BadApiCapture(
            f"{where} holds no call; was anything run between its start and its end?"
        )
    return calls


def checked_header(content: dict[str, Any]) -> dict[str, Any]:
    if content.get("opbench") != "capture" or content.get("level") != "api":
        raise Wrong('a capture of this kind begins with {"opbench": "capture", "level": "api", …}')
    if content.get("version") != VERSION:
        said = content.get("version")
        raise Wrong(f"written in version {said!r} of the format; this opbench reads {VERSION}")
    return content


def call_of(content: dict[str, Any], index: int) -> ApiCall:
    kinds = [kind for kind in KINDS if kind in content]
    if len(kinds) != 1:
        raise Wrong(f"expected one of {', '.join(KINDS)}, found {', '.join(kinds) or 'none'}")
    kind = kinds[0]
    name = dotted(content[kind], kind)
    init = content.get("init") or {}
    if kind == "module":
        checked_init(init)
    args, kwargs = content.get("args", []), content.get("kwargs", {})
    checked_arguments(args, kwargs)
    if content.get("out") is not None:
        checked_value(content["out"])
    count = content.get("count", 1)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count < LARGEST:
        raise Wrong(f"count: expected a whole number from 1 up, found {str(count)[:40]}")
    inside = content.get("inside", [])
    if not isinstance(inside, list) or not all(isinstance(place, str) for place in inside):
        raise Wrong("inside: expected a list of names")
    return ApiCall(
        index=index,
        kind=kind,
        name=name,
        args=tuple(args),
        kwargs=kwargs,
        init=init,
        init_from=str(content.get("init_from", "constructor")),
        training=bool(content.get("training", True)),
        out=content.get("out"),
        count=count,
        inside=tuple(inside),
    )


def dotted(name: Any, what: str) -> str:
    if not isinstance(name, str) or len(name) > 300 or not DOTTED.fullmatch(name):
        raise Wrong(f"{what}: {str(name)[:60]!r} is no name such as 'torch.nn.functional.relu'")
    return name


def checked_init(init: Any) -> None:
    if not isinstance(init, dict):
        raise Wrong("init: expected an object with args and kwargs")
    checked_arguments(init.get("args", []), init.get("kwargs", {}))


def checked_arguments(args: Any, kwargs: Any) -> None:
    if not isinstance(args, list):
        raise Wrong("args: expected a list")
    if not isinstance(kwargs, dict):
        raise Wrong("kwargs: expected an object")
    for name in kwargs:
        if not WORD.fullmatch(name):
            raise Wrong(f"kwargs: {name[:40]!r} is no name of an argument")
    for value in (*args, *kwargs.values()):
        checked_value(value)


def checked_value(value: Any, depth: int = 0) -> None:
    """Refuses what the recorder would never have written."""
    if depth > 20:
        raise Wrong("an argument is nested too deeply")
    if value is None or isinstance(value, (bool, str, float)):
        return
    if isinstance(value, int):
        if abs(value) >= 1 << 64:
            raise Wrong("an argument is larger than any number torch takes")
        return
    if isinstance(value, list):
        for part in value:
            checked_value(part, depth + 1)
        return
    if not isinstance(value, dict) or not value:
        raise Wrong(f"{str(value)[:60]!r} is no argument")
    kind = next(iter(value))
    check = CHECKS.get(kind)
    if check is None:
        raise Wrong(f"an argument is of the unknown kind {kind[:40]!r}")
    check(value, depth)


def _tensor(value: dict[str, Any], _depth: int) -> None:
    shape_of(value)
    for key in ("strides", "range"):
        numbers = value.get(key)
        if numbers is not None and (
            not isinstance(numbers, list) or not all(type(n) is int for n in numbers)
        ):
            raise Wrong(f"{key}: expected whole numbers")
    if "strides" in value and (
        len(value["strides"]) != len(shape_of(value)[1]) or min(value["strides"], default=0) < 0
    ):
        raise Wrong("strides: expected one per dimension, none below zero")
    if "range" in value and (len(value["range"]) != 2 or value["range"][0] > value["range"][1]):
        raise Wrong("range: expected the least and the greatest value")
    if "device" in value:
        _word(value["device"], DEVICE, "device")


def shape_of(value: Mapping[str, Any]) -> tuple[str, tuple[int, ...]]:
    """(dtype, shape) of a described tensor."""
    text = value["tensor"]
    found = TENSOR.fullmatch(text) if isinstance(text, str) and len(text) < 2000 else None
    if found is None:
        raise Wrong(f"{str(text)[:60]!r} is no tensor; one looks like 'float32[8,3]'")
    sizes = tuple(int(size) for size in found[2].split(",") if size)
    if len(sizes) > MOST_DIMENSIONS or any(size >= LARGEST for size in sizes):
        raise Wrong(f"{text[:60]!r} is larger than any tensor")
    return found[1], sizes


def _word(value: Any, pattern: re.Pattern[str], what: str) -> None:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise Wrong(f"{what}: {str(value)[:40]!r} is none")


def _parts(value: dict[str, Any], depth: int) -> None:
    parts = value[next(iter(value))]
    if not isinstance(parts, list):
        raise Wrong("expected a list")
    for part in parts:
        checked_value(part, depth + 1)


def _pairs(value: dict[str, Any], depth: int) -> None:
    pairs = value["dict"]
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs
    ):
        raise Wrong("dict: expected pairs of a name and a value")
    for _, part in pairs:
        checked_value(part, depth + 1)


def _numbers(value: dict[str, Any], _depth: int) -> None:
    key = next(iter(value))
    texts = value[key] if isinstance(value[key], list) else [value[key]]
    try:
        [float(text) for text in texts]
    except (TypeError, ValueError):
        raise Wrong(f"{key}: {str(value[key])[:40]!r} is no number") from None


def _nested_module(value: dict[str, Any], _depth: int) -> None:
    dotted(value["module"], "module")
    checked_init(value.get("init", {}))


CHECKS = {
    "tensor": _tensor,
    "dtype": lambda v, _d: _word(v["dtype"], WORD, "dtype"),
    "memory_format": lambda v, _d: _word(v["memory_format"], WORD, "memory_format"),
    "layout": lambda v, _d: _word(v["layout"], WORD, "layout"),
    "device": lambda v, _d: _word(v["device"], DEVICE, "device"),
    "float": _numbers,
    "complex": _numbers,
    "slice": _parts,
    "tuple": _parts,
    "dict": _pairs,
    "ellipsis": lambda _v, _d: None,
    "module": _nested_module,
    "object": lambda v, _d: None if isinstance(v["object"], str) else _word(None, WORD, "object"),
}
