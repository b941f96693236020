"""The small questions a line of a capture is asked: is this an integer, a list, a short text?"""

from __future__ import annotations

import json
import re
from typing import Any

from opbench.errors import printable

NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

#: A name in torch's registry; what does not look like one is not even looked up.
OPERATOR = re.compile(r"([A-Za-z_]\w*::[A-Za-z_]\w*)(?:\.(\w+))?", re.ASCII)
#: The only operators whose names look like Python's own: `x & y` is `aten::__and__`.
BITWISE = re.compile(r"aten::__i?(and|or|xor|lshift|rshift)__")
#: Registered operators that read or write files: no business of a benchmark.
REFUSED = ("aten::from_file", "aten::save")

#: More than any memory has; keeps arithmetic on a hostile file small.
LARGEST = 1 << 62
LONGEST_TEXT = 500


class Wrong(Exception):
    """What is wrong with one line, before the line's number is known."""


def loaded(line: str, longest: int) -> dict[str, Any]:
    """The JSON object that a line is."""
    if len(line) > longest:
        raise Wrong(f"longer than {longest >> 20} MiB")
    try:
        content = json.loads(line, parse_constant=no_constant)
    except RecursionError:
        raise Wrong("nested too deeply") from None
    except ValueError as error:
        raise Wrong(f"not JSON: {error}") from None
    if not isinstance(content, dict):
        raise Wrong("a line is a JSON object")
    return content


def no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


def whole(value: Any, what: str, least: int | None = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST * 2:
        raise Wrong(f"{what}: {str(value)[:40]!r} is not an integer")
    if least is not None and value < least:
        raise Wrong(f"{what}: {value} is less than {least}")
    return value


def number(value: Any, what: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or abs(value) > 1e308:
        raise Wrong(f"{what}: {str(value)[:40]!r} is not a number")
    return float(value)


def numbers(text: str) -> tuple[int, ...]:
    """The integers of `2,3`; none of the empty text."""
    try:
        found = [int(each) for each in text.split(",")] if text else []
    except ValueError:
        raise Wrong(f"{text[:40]!r}: expected integers") from None
    return tuple(whole(each, "a size") for each in found)


def mapping(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Wrong(f"{what}: expected an object")
    return value


def sequence(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise Wrong(f"{what}: expected a list")
    return value


def text_of(value: Any, what: str, longest: int = LONGEST_TEXT) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise Wrong(f"{what}: expected text of at most {longest} characters")
    return value


def label_of(value: Any, what: str) -> str:
    """Text that is only ever shown, with nothing in it that a terminal would obey."""
    return printable(text_of(value, what))


def labels_of(value: Any, what: str) -> tuple[str, ...]:
    return tuple(label_of(each, what) for each in sequence(value, what))


def operator_of(name: Any) -> tuple[str, str]:
    """('aten::add_', 'Tensor') of `aten::add_.Tensor`, when it could be a registered name."""
    found = OPERATOR.fullmatch(name) if isinstance(name, str) and len(name) < 300 else None
    if found is None or ("__" in name and not BITWISE.fullmatch(found[1])):
        raise Wrong(
            f"{str(name)[:60]!r} is not an operator's name; one looks like 'aten::add.Tensor'"
        )
    if found[1] in REFUSED:
        raise Wrong(f"{found[1]} touches files and is not replayed")
    return found[1], found[2] or "default"
