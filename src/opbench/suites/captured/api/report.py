"""The recorded Python calls of a program as a table, most frequent first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opbench.report.table import Column, Table

if TYPE_CHECKING:
    from opbench.capture.calls import ApiCall

LISTED = 200
WIDEST = 110


def table(calls: Sequence[ApiCall]) -> Table:
    rows = []
    for call in sorted(calls, key=lambda call: -call.count)[:LISTED]:
        name = f"{call.short}({call.init.text})" if call.kind == "module" else call.name
        inside = [place for place in call.inside if place]
        places = ", ".join(inside[:2]) + (" …" if len(inside) > 2 else "")
        texts = (shortened(name, 60), shortened(call.given.text, WIDEST), shortened(places, 40))
        rows.append((str(call.count), *texts))
    columns = (
        Column("count", number=True),
        Column("call", wrap="cut"),
        Column("arguments", wrap="fold"),
        Column("inside", wrap="fold"),
    )
    return Table(columns, rows)


def summary(calls: Sequence[ApiCall]) -> str:
    kinds: dict[str, list[int]] = {}
    for call in calls:
        kinds.setdefault(call.kind, []).append(call.count)
    words = {"named": "named function"}
    parts = ", ".join(
        f"{sum(counts)} of {words.get(kind, kind)}s ({len(counts)} unique)"
        for kind, counts in kinds.items()
    )
    more = f"; the {LISTED} most frequent are shown" if len(calls) > LISTED else ""
    return f"{sum(call.count for call in calls)} calls: {parts}{more}"


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
