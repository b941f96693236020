"""The small questions a line of a capture is asked: is this a number, a name, a phase?"""

from __future__ import annotations

import json
import re
from typing import Any

from opbench.capture.call import PHASES

NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

#: More than any memory has; keeps arithmetic on a hostile file small.
LARGEST = 1 << 62


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
        raise Wrong(f"{what}: {str(value)[:40]!r} is no whole number")
    if least is not None and value < least:
        raise Wrong(f"{what}: {value} is less than {least}")
    return value


def number(value: Any, what: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or abs(value) > 1e308:
        raise Wrong(f"{what}: {str(value)[:40]!r} is no number")
    return float(value)


def numbers(text: str) -> tuple[int, ...]:
    if not text:
        return ()
    try:
        found = tuple(int(each) for each in text.split(","))
    except ValueError:
        raise Wrong(f"{text[:40]!r} are no whole numbers") from None
    return tuple(whole(each, "a size") for each in found)


def mapping(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Wrong(f"{what} is no object")
    return value


def sequence(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise Wrong(f"{what} is no list")
    return value


def text_of(value: Any, what: str) -> str:
    if not isinstance(value, str) or len(value) > 500:
        raise Wrong(f"{what} is no short text")
    return value


def names_of(value: Any, what: str) -> tuple[str, ...]:
    return tuple(text_of(each, what) for each in sequence(value, what))


def phase_of(value: Any) -> str:
    if value not in PHASES:
        raise Wrong(f"{str(value)[:40]!r} is no phase; there is {', '.join(PHASES)}")
    return str(value)


def written(value: Any) -> tuple[int | str, ...]:
    found: list[int | str] = []
    for each in sequence(value, "writes"):
        if isinstance(each, str) and NAME.fullmatch(each):
            found.append(each)
        else:
            found.append(whole(each, "writes"))
    return tuple(found)


def pair_of(value: Any) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise Wrong("at: pairs of a position and a number")
    return whole(value[0], "at"), whole(value[1], "at", least=None)
