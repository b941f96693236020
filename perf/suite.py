"""Power and false discoveries in a suite of fifty cases, five of which are really slower.

Ten trials of fifty pairs, of at most six seconds each: about 25 minutes, 50 at most.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from opbench.analyse.compare import compare_pairs
from opbench.case import Case
from opbench.plan.groups import PlannedGroup
from opbench.plan.policy import Adaptive
from perf.comparison import Pair, alarm_row, of, page, power_row, run, sides, verdict
from perf.small_cases import SETUP, STATEMENTS

TITLE = "Comparison: a suite under false-discovery control"
CODE = ("analyse/compare.py", "running", "sampling", "stats", "worker", "workers")

#: A suite is judged as a whole, so each case needs more certainty than it would alone: a case in
#: doubt gets up to six seconds, most need a fifth of that.
SETTINGS = Adaptive(precision=0.015, max_time=3.0)
EFFECT = 0.02


def measure(quick: bool = False) -> str:
    scale = 10 if quick else 1
    suite = suite_trials(trials=10 // scale, cases=50 // scale, injected=max(1, 5 // scale))
    flat = [pair for trial in suite for pair in trial]
    rows = [
        *suite_rows(suite),
        alarm_row("each case judged alone: A/A", of(flat, 0.0), 0.05),
        power_row("each case judged alone: injected 2 %", of(flat, EFFECT), 0.95),
    ]
    return page(rows, {"A/A, one environment": of(flat, 0.0)})


def suite_trials(trials: int, cases: int, injected: int) -> list[list[Pair]]:
    """A suite of small operators, of which some really do 2 % more on the second side."""
    found = []
    for trial in range(trials):
        rng = random.Random(trial)
        slower = set(rng.sample(range(cases), injected))
        groups = [
            PlannedGroup(suite_pair(index, EFFECT if index in slower else 0.0, trial))
            for index in range(cases)
        ]
        results = run(groups, SETTINGS)
        print(f"  suite: trial {trial + 1} of {trials}", flush=True)
        found.append(
            [
                sides(EFFECT if index in slower else 0.0, group, results)
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


def suite_rows(trials: Sequence[Sequence[Pair]]) -> list[str]:
    """With false-discovery control over each trial's whole suite."""
    injected = found = reported = false = 0
    for trial in trials:
        rows = compare_pairs([pair.stored() for pair in trial], names=("a", "b")).rows
        for pair, row in zip(trial, rows, strict=True):
            changed = row.verdict in ("slower", "faster")
            injected += pair.effect > 0
            found += changed and pair.effect > 0
            reported += changed
            false += changed and not pair.effect
    power, false_share = found / max(1, injected), false / max(1, reported)
    size = len(trials[0])
    return [
        f"| suite of {size}, 2 % injected into some, {len(trials)} trials: injected found "
        f"| {found} of {injected} = {power:.0%} | ≥ 85 % | {verdict(power >= 0.85)} |",
        "| the same: false alarms among the changes reported "
        f"| {false} of {reported} = {false_share:.1%} | ≤ 5 % | {verdict(false_share <= 0.05)} |",
    ]
