"""The console that every command prints with."""

from __future__ import annotations

from collections.abc import Iterable

import rich.console
from rich.segment import Segment

from opbench.report.terminal.visible import visible


class Console(rich.console.Console):
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
