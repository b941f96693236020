"""What the API-level view of a program holds, as a table: most frequent calls first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from opbench.capture.api_file import ApiCall

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
    for call in sorted(calls, key=lambda one: -one.count)[:LISTED]:
        made = signature(call.init.get("args", []), call.init.get("kwargs", {}))
        name = f"{call.short}({made})" if call.kind == "module" else call.name
        places = ", ".join(call.inside[:2]) + (" …" if len(call.inside) > 2 else "")
        given = signature(call.args, call.kwargs)
        grid.add_row(str(call.count), Text(cut(name, 60)), Text(cut(given)), Text(cut(places, 40)))
    return grid


def summary(calls: Sequence[ApiCall]) -> str:
    kinds: dict[str, list[int]] = {}
    for call in calls:
        unique = kinds.setdefault(call.kind, [0, 0])
        unique[0] += call.count
        unique[1] += 1
    words = {"named": "named function"}
    said = ", ".join(
        f"{n} of {words.get(kind, kind)}s ({unique} unique)" for kind, (n, unique) in kinds.items()
    )
    more = f"; the {LISTED} most frequent are shown" if len(calls) > LISTED else ""
    return f"{sum(call.count for call in calls)} calls: {said}{more}"


def signature(args: Sequence[Any], kwargs: Any) -> str:
    return ", ".join([*map(shown, args), *(f"{name}={shown(v)}" for name, v in kwargs.items())])


def shown(described: Any) -> str:
    if isinstance(described, list):
        return f"[{', '.join(map(shown, described))}]"
    if not isinstance(described, dict):
        return repr(described)
    kind, value = next(iter(described.items()))
    if kind == "tuple":
        return f"({', '.join(map(shown, value))})"
    if kind == "dict":
        return f"{{{', '.join(f'{name}: {shown(part)}' for name, part in value)}}}"
    if kind == "slice":
        return f"slice({', '.join(map(shown, value))})"
    if kind == "ellipsis":
        return "..."
    if kind == "module":
        init = described.get("init", {})
        return f"{value.split('.')[-1]}({signature(init.get('args', []), init.get('kwargs', {}))})"
    return f"<{value}>" if kind == "object" else str(value)


def cut(text: str, width: int = WIDEST) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
