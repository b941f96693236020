"""How many results of each outcome every framework has, after the table of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opbench.case import Case
from opbench.report.table import grid, plain_table
from opbench.result import OUTCOMES, Result
from opbench.suites.ops.rows import SUITE

if TYPE_CHECKING:
    from rich.console import RenderableType


def by_framework(results: Sequence[tuple[Case, Result]]) -> list[RenderableType]:
    counted: dict[str, Counter[str]] = {}
    for case, result in results:
        if case.suite == SUITE:
            counted.setdefault(case.framework, Counter())[result.outcome] += 1
    if not counted:
        return []
    seen = [name for name in OUTCOMES if any(name in each for each in counted.values())]
    shown = list(dict.fromkeys(("ok", "unsupported", "failed", *seen)))
    rows = [[name, *(str(each[key]) for key in shown)] for name, each in counted.items()]
    return [grid(plain_table("", ["framework", *shown], rows, words=1))]
