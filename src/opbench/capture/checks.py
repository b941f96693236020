"""The small questions a line of a capture is asked: is this an integer, a list, a short text?"""

from __future__ import annotations

import json
import re
from typing import Any

NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

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


def texts_of(value: Any, what: str) -> tuple[str, ...]:
    return tuple(text_of(each, what) for each in sequence(value, what))
