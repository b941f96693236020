"""False alarms for identical code in two environments, and in two stored runs.

Sixteen runs of four pairs, each with twelve worker starts of its own: about 12 minutes.
"""

from __future__ import annotations

from itertools import pairwise

from opbench.api.selftest import OPERATORS, pair
from opbench.envs.environments import Environment, current
from opbench.plan.groups import PlannedGroup
from opbench.store.records import StoredResult
from perf.comparison import SHARP, Pair, alarm_row, page, run, sides

TITLE = "Comparison: across environments and across runs"
CODE = ("analyse/compare.py", "running", "sampling", "stats", "worker", "workers")


def measure(quick: bool = False) -> str:
    crossed, apart = across(runs=2 if quick else 16)
    rows = [
        alarm_row("A/A across two identical environments", crossed, 0.05),
        alarm_row("A/A of two stored runs", apart, 0.05),
    ]
    return page(rows, {"A/A, two environments": crossed, "A/A, two stored runs": apart})


def across(runs: int) -> tuple[list[Pair], list[Pair]]:
    """Pairs across environments, and pairs across runs.

    Each run measures the same interpreter as two environments, with its own workers. Consecutive
    runs are pairs of stored runs.
    """
    here = current()
    again = Environment(f"{here.name} (again)", here.python)
    per_run: list[dict[str, Pair]] = []
    for number in range(runs):
        groups = {op: PlannedGroup((pair(op, 0.0, 0)[0],) * 2, (here, again)) for op in OPERATORS}
        results = run(list(groups.values()), SHARP)
        per_run.append({op: sides(0.0, group, results) for op, group in groups.items()})
        print(f"  across: run {number + 1} of {runs}", flush=True)
    crossed = [pair for found in per_run for pair in found.values()]
    apart = [
        Pair(0.0, before[op].base, after[op].base)
        for before, after in pairwise(per_run)
        for op in OPERATORS
    ]
    return crossed, [SeparatePair(p.effect, p.base, p.new) for p in apart]


class SeparatePair(Pair):
    """A pair whose sides come from two runs."""

    def stored(self) -> tuple[tuple[str, str], StoredResult, StoredResult]:
        key = (self.base[0].id, "time")
        return key, StoredResult("first", *self.base), StoredResult("second", *self.new)
