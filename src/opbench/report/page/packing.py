"""Data inside an HTML file: compressed, and in letters that can never end the element they are in.

Names and messages of results are text somebody else wrote. In base64 there is no `<`, so none of
them can be read as markup; the scripts of the page only ever put them into text nodes.
"""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any

from opbench.store import quick_json

#: Significant digits of numbers on the page: beyond what any interval is worth.
DIGITS = 5
#: The middle of zlib's range: 9 takes twice as long to save three percent.
LEVEL = 6


def packed(value: Any) -> str:
    """Base64 of zlib of JSON; the page undoes it with what browsers have built in."""
    return base64.b64encode(zlib.compress(quick_json.dumps(value), LEVEL)).decode("ascii")


def number(value: float | None, digits: int = DIGITS) -> float | int | None:
    """Rounded for the page; what is not finite is no number there."""
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short == int(short) and abs(short) < 1e15 else short


def plain(value: Any, digits: int = 4) -> Any:
    """Any stored detail, with its numbers rounded and made safe for JSON."""
    if isinstance(value, float):
        return number(value, digits)
    if isinstance(value, dict):
        return {str(key): plain(item, digits) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, digits) for item in value]
    if value is None or isinstance(value, (str, int, bool)):
        return value
    return str(value)


class Words:
    """Texts that repeat, by number: `index("float32")` is the same number every time."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}

    def index(self, text: str) -> int:
        return self._index.setdefault(text, len(self._index))

    @property
    def texts(self) -> list[str]:
        return list(self._index)
