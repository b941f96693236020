"""How many results of each outcome every framework has, after the table of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from opbench.case import Case
from opbench.report.table import Table, plain_table
from opbench.result import OUTCOMES, Result
from opbench.suites.ops.rows import SUITE


def by_framework(results: Sequence[tuple[Case, Result]]) -> list[Table]:
    counted: dict[str, Counter[str]] = {}
    for case, result in results:
        if case.suite == SUITE:
            counted.setdefault(case.framework, Counter())[result.outcome] += 1
    if not counted:
        return []
    seen = [name for name in OUTCOMES if any(name in each for each in counted.values())]
    shown = list(dict.fromkeys(("ok", "unsupported", "failed", *seen)))
    rows = [[of, *(str(each[name]) for name in shown)] for of, each in counted.items()]
    return [plain_table("", ["framework", *shown], rows, words=1)]
