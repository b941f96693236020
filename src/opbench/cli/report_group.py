"""`opbench report last -o page.html`, without naming the page.

The page is what people want most, so it needs no word of its own: whatever is not the name of
another report is an argument of the page, and the help of the group is that of the page.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

PAGE = "page"


class ReportGroup(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = [PAGE, *args]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS] [RUN]", "|", "REPORT ..."]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Those of the page, then the other reports."""
        page = self.commands[PAGE]
        page.format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for name in super().list_commands(ctx) if name != PAGE]
