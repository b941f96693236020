"""False alarms and power of single comparisons, compared with the rules of other tools.

200 pairs of at most ten seconds: about 20 minutes, 35 at most.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

from opbench.analyse.compare import ComparisonRow, compare_pairs
from opbench.api.selftest import OPERATORS, pair, share_interval
from opbench.case import Case
from opbench.plan.groups import PlannedGroup
from opbench.plan.policy import Adaptive
from opbench.plan.request import Request
from opbench.result import Result
from opbench.running.runner import Runner
from opbench.store.records import StoredResult

TITLE = "Comparison: false alarms and power of single pairs"
CODE = ("analyse/compare.py", "running", "sampling", "stats", "worker", "workers")

#: The defaults of `opbench ab`: until the ratio is known to half a percent, at most ten seconds per
#: pair.
SHARP = Adaptive(precision=0.005, max_time=5.0)


@dataclass(frozen=True)
class Pair:
    """Two measured sides; `effect` is the extra work of the second."""

    effect: float
    base: tuple[Case, Result]
    new: tuple[Case, Result]

    def stored(self) -> tuple[tuple[str, str], StoredResult, StoredResult]:
        key = (self.base[0].id, "time")
        return key, StoredResult("run", *self.base), StoredResult("run", *self.new)

    def row(self) -> ComparisonRow:
        """Judged on its own."""
        return compare_pairs([self.stored()], names=("a", "b")).rows[0]

    @property
    def values(self) -> tuple[list[float], list[float]]:
        """What the rule of another tool sees: the samples, without their grouping by process."""
        return (
            [sample.value for sample in self.base[1].samples],
            [sample.value for sample in self.new[1].samples],
        )


def measure(quick: bool = False) -> str:
    scale = 10 if quick else 1
    pairs = measured(SHARP, {0.0: 30 // scale, 0.02: 10 // scale, 0.01: 10 // scale})
    rows = [
        alarm_row("A/A within one environment", of(pairs, 0.0), 0.05),
        power_row("injected 2 %", of(pairs, 0.02), 0.95),
        power_row("injected 1 %", of(pairs, 0.01), 0.80),
    ]
    return page(rows, {"A/A, one environment": of(pairs, 0.0)})


def page(rows: Sequence[str], identical: dict[str, list[Pair]]) -> str:
    """The figures, then the alarms of other tools' rules on the identical pairs."""
    head = ["| figure | measured | target | |", "| :-- | --: | --: | :-- |"]
    return "\n".join([*head, *rows, "", PEERS_INTRODUCTION, "", *peer_table(identical)])


# -- measuring ---------------------------------------------------------------------------------


def run(groups: Sequence[PlannedGroup], policy: Adaptive) -> dict[tuple[str, str], Result]:
    """Results by case hash and environment name."""
    runner = Runner(Request(tuple(groups), policy), lambda _case, _result, _again: None)
    runner.run()
    return {(case.hash, result.environment): result for case, result in runner.results}


def measured(policy: Adaptive, pairs: Mapping[float, int]) -> list[Pair]:
    """The given number of pairs of each operator for each effect."""
    plan = [
        (op, effect, n) for effect, count in pairs.items() for n in range(count) for op in OPERATORS
    ]
    random.Random(0).shuffle(plan)
    groups = [PlannedGroup(pair(*trial)) for trial in plan]
    results = run(groups, policy)
    return [
        sides(effect, group, results) for (_, effect, _), group in zip(plan, groups, strict=True)
    ]


def sides(effect: float, group: PlannedGroup, results: dict[tuple[str, str], Result]) -> Pair:
    names = [e.name for e in group.environments] or ["current", "current"]
    base, new = (
        (case, results[(case.hash, name)]) for case, name in zip(group.cases, names, strict=True)
    )
    return Pair(effect, base, new)


# -- figures -----------------------------------------------------------------------------------


def of(pairs: Sequence[Pair], effect: float) -> list[Pair]:
    return [pair for pair in pairs if pair.effect == effect]


def verdict(reached: bool) -> str:
    return "reached" if reached else "**missed**"


def alarms(pairs: Sequence[Pair]) -> int:
    return sum(pair.row().verdict in ("slower", "faster") for pair in pairs)


def alarm_row(what: str, pairs: Sequence[Pair], goal: float) -> str:
    count = alarms(pairs)
    low, high = share_interval(count, len(pairs))
    share = count / max(1, len(pairs))
    ok = verdict(share <= goal)
    return (
        f"| {what} | {count} of {len(pairs)} = {share:.1%} (95 %: {low:.0%} to {high:.0%}) "
        f"| ≤ {goal:.0%} alarms | {ok} |"
    )


def power_row(what: str, pairs: Sequence[Pair], goal: float) -> str:
    rows = [pair.row() for pair in pairs]
    count = sum(row.verdict == "slower" for row in rows)
    share = count / max(1, len(rows))
    estimate = median(row.value - 1 for row in rows if row.value) if rows else math.nan
    seconds = mean(
        sum(float(result.detail["seconds"]) for _, result in (pair.base, pair.new))
        for pair in pairs
    )
    ok = verdict(share >= goal)
    return (
        f"| {what} | {count} of {len(rows)} = {share:.0%}; median estimate {estimate:+.2%}, "
        f"{seconds:.1f} s per case | ≥ {goal:.0%} | {ok} |"
    )


# -- peers -------------------------------------------------------------------------------------

PEERS_INTRODUCTION = """\
Alarms on the same pairs by the rules of other tools, which see the same samples without their
grouping by process: asv (Mann-Whitney p < 0.002 and a factor of 1.1), pyperf (t-test, p < 0.05),
pytest-benchmark (`--benchmark-compare-fail=median:5%`), and a plain Mann-Whitney test at 5 %."""


def peer_table(sets: dict[str, list[Pair]]) -> list[str]:
    lines = ["| pairs | opbench | asv | pyperf | pytest-benchmark 5 % | Mann-Whitney 5 % |"]
    lines.append("| :-- | --: | --: | --: | --: | --: |")
    for name, pairs in sets.items():
        counts = [alarms(pairs), *(sum(rule(*p.values) for p in pairs) for rule in RULES)]
        cells = " | ".join(f"{count} ({count / max(1, len(pairs)):.0%})" for count in counts)
        lines.append(f"| {name} ({len(pairs)}) | {cells} |")
    return lines


def asv(base: list[float], new: list[float]) -> bool:
    ratio = median(new) / median(base)
    return mann_whitney(base, new) < 0.002 and (ratio > 1.1 or ratio < 1 / 1.1)


def pyperf(base: list[float], new: list[float]) -> bool:
    """It compares equally many values only, and those of two runs may differ in number."""
    from pyperf._utils import is_significant

    count = min(len(base), len(new))
    return bool(is_significant(base[:count], new[:count])[0])


def pytest_benchmark(base: list[float], new: list[float]) -> bool:
    return abs(median(new) / median(base) - 1) > 0.05


def plain_test(base: list[float], new: list[float]) -> bool:
    return mann_whitney(base, new) < 0.05


def mann_whitney(base: list[float], new: list[float]) -> float:
    from scipy.stats import mannwhitneyu

    return float(mannwhitneyu(base, new).pvalue)


RULES = (asv, pyperf, pytest_benchmark, plain_test)
