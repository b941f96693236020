"""What differs between two starts of identical code, and what between two children of one start?

The experiment behind the unit of replication: small operators, several fresh workers, several
children forked from each, everything else the same.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import mean, median, stdev

from opbench import frameworks
from opbench.case import Case
from opbench.run.worker_process import Worker
from perf.operators import cases

TITLE = "Layout: worker starts and children of identical code"

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
    return "\n".join(lines)


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
