"""How much identical code varies between worker starts, and between children of one start.

The experiments behind the unit of replication: small operators, several fresh workers, several
children forked from each, everything else the same; first case by case, then as the pairs of a
comparison, whose variance `stats.ratio` has to know.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import log
from statistics import mean, median, stdev

from opbench import frameworks
from opbench.api.selftest import OPERATORS as PAIR_OPERATORS
from opbench.api.selftest import pair
from opbench.case import Case
from opbench.plan.groups import PlannedGroup
from opbench.plan.policy import Adaptive
from opbench.plan.request import Request
from opbench.result import Result
from opbench.running.runner import Runner
from opbench.stats.contention import undisturbed
from opbench.stats.estimate import median_error
from opbench.workers.process import Worker
from perf.small_cases import cases

TITLE = "Start-to-start variance of identical code"
CODE = ("sampling/paired.py", "stats/ratio.py", "worker", "workers")

OPERATORS = ("add", "div", "sqrt", "exp", "log", "matmul", "sum", "view")
BLOCKS = 15


def measure(quick: bool = False) -> str:
    starts, children = (3, 2) if quick else (8, 4)
    env = frameworks.get("torch").thread_env(1)
    workers = [Worker(sys.executable, ["torch"], start=k, env=env) for k in range(starts)]
    lines = [
        "| operator, 8×8 | time | between children of one worker | between worker starts |",
        "| :-- | --: | --: | --: |",
    ]
    try:
        for case in cases((8,)):
            if case.name in OPERATORS:
                rows = [[child(worker, case) for _ in range(children)] for worker in workers]
                lines.append(line(case.name, rows))
    finally:
        for worker in workers:
            worker.close()
    lines.append("")
    lines.append(
        f"Relative standard deviations over {starts} worker starts × {children} children, each the "
        f"median of {BLOCKS} blocks of 2 ms; between starts: of the means of their children."
    )
    return "\n".join([*lines, "", *pairs_table(runs=1 if quick else 3, pairs=1 if quick else 4)])


def child(worker: Worker, case: Case) -> float:
    session = worker.open()
    session.prepare(case, 0, 60)
    n = session.warm_up(0.1, 0.002, 60)["n"]
    value = median(session.block("time", n, 60)["value"] for _ in range(BLOCKS))
    session.close()
    return value


def line(name: str, rows: Sequence[Sequence[float]]) -> str:
    overall = mean(value for row in rows for value in row)
    within = mean(stdev(row) ** 2 for row in rows) ** 0.5 / overall
    between = stdev([mean(row) for row in rows]) / overall
    return f"| {name} | {overall * 1e6:.2f} µs | {within:.1%} | {between:.1%} |"


def pairs_table(runs: int, pairs: int) -> list[str]:
    """Identical pairs, sampled as long as a comparison samples at most."""
    found: dict[str, list[list[list[tuple[float, float]]]]] = {name: [] for name in PAIR_OPERATORS}
    for run in range(runs):
        plan = [(name, 0.0, number) for number in range(pairs) for name in PAIR_OPERATORS]
        groups = tuple(PlannedGroup(pair(*each)) for each in plan)
        # A precision that is never reached, so that every set is measured.
        policy = Adaptive(precision=1e-9, max_time=30.0)
        runner = Runner(Request(groups, policy, seed=run), lambda _case, _result, _again: None)
        runner.run()
        results = {case.hash: result for case, result in runner.results}
        for (name, *_), group in zip(plan, groups, strict=True):
            base, new = (children_of(results[case.hash]) for case in group.cases)
            found[name].append(
                [
                    [(b - a, (e**2 + f**2) ** 0.5) for (a, e), (b, f) in zip(x, y, strict=True)]
                    for x, y in zip(base, new, strict=True)
                ]
            )
    lines = [
        "| identical pairs of | sets of children | explained by blocks "
        "| worker starts beyond that | the whole pair |",
        "| :-- | --: | --: | --: | --: |",
    ]
    for name, each in found.items():
        lines.append(pair_line(name, each))
    lines.append("")
    lines.append(
        f"Standard deviations of the ratio of two identical sides: {runs * pairs} pairs per "
        f"operator, each of 4 worker starts × 6 sets of 2 children × 25 blocks of 2 ms."
    )
    return lines


def children_of(result: Result) -> list[list[tuple[float, float]]]:
    """Per worker start and child, in order of forking: the log of its median, and its error."""
    logs: dict[int, dict[int, list[float]]] = {}
    (kept,) = undisturbed(result.samples)
    for sample in kept:
        logs.setdefault(sample.start, {}).setdefault(sample.session, []).append(log(sample.value))
    return [
        [(median(each), median_error(each)) for _, each in sorted(of_start.items())]
        for _, of_start in sorted(logs.items())
    ]


def pair_line(name: str, pairs: Sequence[Sequence[Sequence[tuple[float, float]]]]) -> str:
    """Medians over the pairs, because other programs may have disturbed one of them."""
    sets = [[[ratio for ratio, _ in start] for start in each] for each in pairs]
    within = median(mean(stdev(start) ** 2 for start in each) for each in sets)
    noise = median(mean(error**2 for start in each for _, error in start) for each in pairs)
    between = median(stdev([mean(start) for start in each]) ** 2 for each in sets)
    beyond = max(0.0, between - within / len(sets[0][0]))
    whole = [mean(mean(start) for start in each) for each in sets]
    spread = median(abs(value) for value in whole) * 1.4826
    cells = " | ".join(f"{100 * v:.2f} %" for v in (within**0.5, noise**0.5, beyond**0.5, spread))
    return f"| {name} | {cells} |"
