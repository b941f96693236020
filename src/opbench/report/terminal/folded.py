"""Ids in narrow columns: broken after the characters that join their parts, never inside a word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

#: A part of an id with the sign that ends it: `tour/`, `matmul[`, `n=64,`, `dtype=float32]`.
PART = re.compile(r"[^/\[\],\s]*[/\[\],\s]|[^/\[\],\s]+")


def folded(text: str, width: int) -> Iterator[str]:
    """Lines of at most that width. Only a part that is longer than a line is cut."""
    line = ""
    for part in PART.findall(text):
        if line and len((line + part).rstrip()) > width:
            yield line.rstrip()
            line = ""
        line += part
        while len(line.rstrip()) > width:
            yield line[:width]
            line = line[width:]
    yield line.rstrip()


@dataclass(frozen=True)
class Folded:
    """A cell of a table whose column may be narrowed down to the longest part."""

    text: str
    style: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("\n".join(folded(self.text, options.max_width)), self.style)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        parts = [len(part.rstrip()) for part in PART.findall(self.text)] or [0]
        return Measurement(max(parts), len(self.text)).with_maximum(options.max_width)
