"""What the Python calls of a program are, as a table: most frequent calls first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from opbench.capture.calls import ApiCall

LISTED = 200
WIDEST = 110


def table(calls: Sequence[ApiCall]) -> Table:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    grid.add_column("count", justify="right")
    grid.add_column("call", no_wrap=True)
    grid.add_column("arguments", overflow="fold")
    grid.add_column("inside", overflow="fold")
    for call in sorted(calls, key=lambda call: -call.count)[:LISTED]:
        name = f"{call.short}({call.init.text})" if call.kind == "module" else call.name
        places = ", ".join(call.inside[:2]) + (" …" if len(call.inside) > 2 else "")
        texts = (shortened(name, 60), shortened(call.given.text, WIDEST), shortened(places, 40))
        grid.add_row(str(call.count), *map(Text, texts))
    return grid


def summary(calls: Sequence[ApiCall]) -> str:
    kinds: dict[str, list[int]] = {}
    for call in calls:
        kinds.setdefault(call.kind, []).append(call.count)
    words = {"named": "named function"}
    said = ", ".join(
        f"{sum(counts)} of {words.get(kind, kind)}s ({len(counts)} unique)"
        for kind, counts in kinds.items()
    )
    more = f"; the {LISTED} most frequent are shown" if len(calls) > LISTED else ""
    return f"{sum(call.count for call in calls)} calls: {said}{more}"


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
