"""How many results of each outcome every framework has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from opbench.report.table import Table, plain_table
from opbench.result import OUTCOMES


def outcome_table(results: Iterable[tuple[str, str]], title: str = "") -> Table:
    """From (framework, outcome) of each result; without rows where there is none."""
    counts: dict[str, Counter[str]] = {}
    for framework, outcome in results:
        counts.setdefault(framework, Counter())[outcome] += 1
    seen = [name for name in OUTCOMES if any(name in each for each in counts.values())]
    shown = list(dict.fromkeys(("ok", "unsupported", "failed", *seen)))
    return plain_table(
        title,
        ["framework", *(name.replace("_", " ") for name in shown)],
        [[name, *(str(each[outcome]) for outcome in shown)] for name, each in counts.items()],
        words=1,
    )
