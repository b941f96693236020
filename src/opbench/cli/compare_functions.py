"""`opbench compare BASE NEW --functions`: which functions changed the instruction count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opbench.analyse.functions import FunctionChange
    from opbench.store.records import StoredResult

#: How many cases are shown: those whose count changed most.
SHOWN = 5


def show_functions(
    base: Sequence[StoredResult], new: Sequence[StoredResult], match: str, group: str
) -> None:
    """Print the functions that gained or lost instructions, case by case."""
    from rich.text import Text

    from opbench.errors import plural
    from opbench.report.functions import changes
    from opbench.report.terminal.console import Console

    console = Console(highlight=False)
    cases = sorted(_changed(base, new, match, group), key=lambda change: -_size(change[1]))
    for name, rows in cases[:SHOWN]:
        console.print(Text(f"\n{name}", style="bold"))
        console.print(changes(rows))
    if len(cases) > SHOWN:
        left = plural(len(cases) - SHOWN, "more case")
        console.print(Text(f"… and {left}; choose with --filter"))
    if not cases:
        console.print(Text("\nNo function executes more or fewer instructions in any case."))


def _changed(
    base: Sequence[StoredResult], new: Sequence[StoredResult], match: str, group: str
) -> list[tuple[str, list[FunctionChange]]]:
    from opbench.analyse.functions import difference
    from opbench.analyse.matching import match as matched
    from opbench.errors import UserError

    pairs = [
        (before, after)
        for _key, before, after in matched(_counted(base), _counted(new), (), "").pairs
        if before.result.ok and after.result.ok
    ]
    if not pairs:
        raise UserError("--functions compares instructions; run both with --metric instructions")
    changes = [
        (before.case.id, difference(before.result, after.result, match=match, group=group))
        for before, after in pairs
    ]
    return [(name, rows) for name, rows in changes if rows]


def _counted(results: Sequence[StoredResult]) -> list[StoredResult]:
    return [stored for stored in results if stored.result.metric == "instructions"]


def _size(rows: Sequence[FunctionChange]) -> float:
    """The relative change of a case."""
    before = sum(row.before for row in rows) or 1.0
    return abs(sum(row.change for row in rows)) / abs(before)
