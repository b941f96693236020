"""`opbench report last -o page.html`, without naming the page.

The page is what people want most, so it needs no word of its own: whatever is not the name of
another report is an argument of the page.
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
