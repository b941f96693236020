"""The console that every command prints with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any

import rich.console
from rich.segment import Segment

from opbench.report.terminal.visible import visible


class Console(rich.console.Console):
    """Writes to its stream in a notebook too, where rich would show every line as an output."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"force_jupyter": False, **settings})

    @property
    def file(self) -> IO[str]:
        """Rich looks through one stand-in for a stream; a live display puts its own before ours."""
        found = super().file
        while (behind := getattr(found, "rich_proxied_file", found)) is not found:
            found = behind
        return found

    @file.setter
    def file(self, new: IO[str]) -> None:
        self._file = new

    def render(
        self,
        renderable: rich.console.RenderableType,
        options: rich.console.ConsoleOptions | None = None,
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(visible(text), style)

    def on_broken_pipe(self) -> None:
        """Rich would end the process with exit code 1; `cli.streams` knows better."""
        raise
