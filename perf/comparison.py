"""Can a difference be trusted? False alarms and power, beside the rules of the peers."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median
from subprocess import Popen
from sys import executable

from opbench.analyse.compare import Row, compare_pairs
from opbench.case import Case
from opbench.result import Result
from opbench.run.environments import Environment, current
from opbench.run.plan import PlannedGroup
from opbench.run.policy import Adaptive
from opbench.run.runner import Request, Runner
from opbench.selftest import OPERATORS, pair, share_interval
from opbench.store.records import StoredResult
from perf.small_cases import SETUP, STATEMENTS

TITLE = "Comparison: false alarms, power, peers"

#: To find 1 %: until the ratio is known to half a per cent, ten seconds per case at most.
SHARP = Adaptive(precision=0.005, max_time=5.0)
#: To find 2 %, alone or in a suite of fifty: a second or two per case.
QUICK = Adaptive(precision=0.02, max_time=1.0)


@dataclass(frozen=True)
class Pair:
    """Two measured sides; `effect` is the extra work of the second."""

    effect: float
    base: tuple[Case, Result]
    new: tuple[Case, Result]

    def stored(self) -> tuple[tuple[str, str], StoredResult, StoredResult]:
        key = (self.base[0].id, "time")
        return key, StoredResult("run", *self.base), StoredResult("run", *self.new)

    def row(self) -> Row:
        """Judged on its own."""
        return compare_pairs([self.stored()], names=("a", "b")).rows[0]

    @property
    def values(self) -> tuple[list[float], list[float]]:
        """What a peer's rule would see: the samples, without their structure."""
        return (
            [sample.value for sample in self.base[1].samples],
            [sample.value for sample in self.new[1].samples],
        )


def measure(quick: bool = False) -> str:
    scale = 10 if quick else 1
    suite = suite_trials(trials=20 // scale, cases=50 // scale, injected=max(1, 5 // scale))
    sharp = measured(SHARP, {0.0: 20 // scale, 0.01: max(1, 10 // scale)})
    crossed, apart = across(runs=max(2, 16 // scale))
    with busy_cores():
        loaded = measured(SHARP, {0.0: max(1, 5 // scale), 0.25: max(1, 5 // scale)})
    flat = [pair for trial in suite for pair in trial]
    head = ["| figure | measured | to reach | |", "| :-- | --: | --: | :-- |"]
    body = [
        alarm_row("A/A within one environment, suite settings", of(flat, 0.0), 0.08),
        alarm_row("A/A within one environment, power-test settings", of(sharp, 0.0), 0.08),
        alarm_row("A/A across two identical environments", crossed, 0.08),
        alarm_row("A/A of two stored runs", apart, 0.08),
        power_row("injected 2 %, suite settings", of(flat, 0.02), 0.95),
        power_row("injected 1 %, power-test settings", of(sharp, 0.01), 0.80),
        alarm_row("A/A with one busy loop per core", of(loaded, 0.0), 0.08),
        power_row("injected 25 % with one busy loop per core", of(loaded, 0.25), 0.80),
        *suite_rows(suite),
    ]
    peers = peer_table(
        {
            "A/A, one environment": of(flat, 0.0),
            "A/A, two environments": crossed,
            "A/A, two stored runs": apart,
            "A/A, busy cores": of(loaded, 0.0),
        }
    )
    return "\n".join([*head, *body, "", PEERS_INTRODUCTION, "", *peers])


# -- measuring ---------------------------------------------------------------------------------


def run(groups: Sequence[PlannedGroup], policy: Adaptive) -> dict[tuple[str, str], Result]:
    """Results by case hash and environment name."""
    runner = Runner(Request(tuple(groups), policy), lambda _case, _result, _again: None)
    runner.run()
    return {(case.hash, result.environment): result for case, result in runner.results}


def measured(policy: Adaptive, pairs: Mapping[float, int]) -> list[Pair]:
    """So many pairs of each operator for each effect."""
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


def suite_trials(trials: int, cases: int, injected: int) -> list[list[Pair]]:
    """A suite of small operators, of which some really do 2 % more on the second side."""
    found = []
    for trial in range(trials):
        rng = random.Random(trial)
        blamed = set(rng.sample(range(cases), injected))
        groups = [
            PlannedGroup(suite_pair(index, 0.02 if index in blamed else 0.0, trial))
            for index in range(cases)
        ]
        results = run(groups, QUICK)
        print(f"  suite: trial {trial + 1} of {trials}", flush=True)
        found.append(
            [
                sides(0.02 if index in blamed else 0.0, group, results)
                for index, group in enumerate(groups)
            ]
        )
    return found


def suite_pair(index: int, effect: float, trial: int) -> tuple[Case, Case]:
    name, statement = list(STATEMENTS.items())[index % len(STATEMENTS)]
    size = (16, 48)[index // len(STATEMENTS) % 2]
    first, second = (
        Case(
            suite="perf",
            name=name,
            stage="forward",
            stmt="\n".join([statement] * repeats),
            setup=SETUP.format(n=size),
            globals="import torch",
            labels=(("n", size), ("trial", trial), ("side", side)),
            framework="torch",
            preload=("torch",),
        )
        for side, repeats in (("a", 50), ("b", 51 if effect else 50))
    )
    return first, second


def across(runs: int) -> tuple[list[Pair], list[Pair]]:
    """The same interpreter as two environments, run after run; each run starts its own workers.

    Neighbouring runs, taken apart, are pairs of stored runs.
    """
    here = current()
    again = Environment(f"{here.name} (again)", here.python)
    history: list[dict[str, Pair]] = []
    for number in range(runs):
        groups = {op: PlannedGroup((pair(op, 0.0, 0)[0],) * 2, (here, again)) for op in OPERATORS}
        results = run(list(groups.values()), SHARP)
        history.append({op: sides(0.0, group, results) for op, group in groups.items()})
        print(f"  across: run {number + 1} of {runs}", flush=True)
    crossed = [pair for found in history for pair in found.values()]
    apart = [
        Pair(0.0, before[op].base, after[op].base)
        for before, after in pairwise(history)
        for op in OPERATORS
    ]
    return crossed, [SeparatePair(p.effect, p.base, p.new) for p in apart]


class SeparatePair(Pair):
    """The two sides come from two runs."""

    def stored(self) -> tuple[tuple[str, str], StoredResult, StoredResult]:
        key = (self.base[0].id, "time")
        return key, StoredResult("first", *self.base), StoredResult("second", *self.new)


@contextmanager
def busy_cores() -> Iterator[None]:
    import os

    loops = [Popen([executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


# -- figures -----------------------------------------------------------------------------------


def of(pairs: Sequence[Pair], effect: float) -> list[Pair]:
    return [pair for pair in pairs if pair.effect == effect]


def said(reached: bool) -> str:
    return "reached" if reached else "**missed**"


def alarms(pairs: Sequence[Pair]) -> int:
    return sum(pair.row().verdict in ("slower", "faster") for pair in pairs)


def alarm_row(what: str, pairs: Sequence[Pair], goal: float) -> str:
    count = alarms(pairs)
    low, high = share_interval(count, len(pairs))
    share = count / max(1, len(pairs))
    ok = said(share <= goal)
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
    ok = said(share >= goal)
    return (
        f"| {what} | {count} of {len(rows)} = {share:.0%}; median estimate {estimate:+.2%}, "
        f"{seconds:.1f} s per case | ≥ {goal:.0%} | {ok} |"
    )


def suite_rows(trials: Sequence[Sequence[Pair]]) -> list[str]:
    """With false-discovery control over each trial's whole suite."""
    found = hit = blamed = innocent = 0
    for trial in trials:
        rows = compare_pairs([one.stored() for one in trial], names=("a", "b")).rows
        for one, row in zip(trial, rows, strict=True):
            called = row.verdict in ("slower", "faster")
            found += one.effect > 0
            hit += called and one.effect > 0
            blamed += called
            innocent += called and not one.effect
    power, false = hit / max(1, found), innocent / max(1, blamed)
    size = len(trials[0])
    return [
        f"| suite of {size}, 2 % injected into some, {len(trials)} trials: injected found "
        f"| {hit} of {found} = {power:.0%} | ≥ 80 % | {said(power >= 0.8)} |",
        f"| the same: innocent among the blamed | {innocent} of {blamed} = {false:.1%} "
        f"| ≤ 5 % | {said(false <= 0.05)} |",
    ]


# -- peers -------------------------------------------------------------------------------------

PEERS_INTRODUCTION = """Alarms of the peers' rules on the same pairs, given the same samples without
their structure: asv (Mann-Whitney p < 0.002 and a factor of 1.1), pyperf (t-test, p < 0.05),
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
    from pyperf._utils import is_significant

    return bool(is_significant(base, new)[0])


def pytest_benchmark(base: list[float], new: list[float]) -> bool:
    return abs(median(new) / median(base) - 1) > 0.05


def plain_test(base: list[float], new: list[float]) -> bool:
    return mann_whitney(base, new) < 0.05


def mann_whitney(base: list[float], new: list[float]) -> float:
    from scipy.stats import mannwhitneyu

    return float(mannwhitneyu(base, new).pvalue)


RULES = (asv, pyperf, pytest_benchmark, plain_test)
