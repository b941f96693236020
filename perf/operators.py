"""The operator catalogue: how long it takes, and whether it agrees with torch's own timer."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import fmean, median, stdev

from opbench.case import Case
from opbench.define.expand import expand
from opbench.sampling.sampler import REFILL_ALONE
from opbench.store import Store
from opbench.suites.ops.catalogue import catalogue
from opbench.suites.ops.definition import operator_definition
from opbench.suites.ops.results.rows import OperatorRow, rows
from opbench.workers.process import Worker
from perf.foundation import row

TITLE = "Operators: the whole catalogue, a category, one operator; agreement with torch's Timer"
CODE = ("running", "sampling", "stats", "suites/ops", "worker", "workers")

WHOLE_MINUTES, CATEGORY_SECONDS, AGREEMENT = 8, 60, 0.03

#: Memory-bound, arithmetic-bound, reductions, layers, copies, look-ups, overhead alone.
COMPARED = (
    "add", "exp", "sum", "softmax", "LayerNorm", "concat", "dot", "sort", "take", "where", "relu",
    "reshape",
)  # fmt: skip
#: Seconds from the shell to the answer.
SINGLE = {
    "add": 4,
    "softmax": 4,
    "LSTM": 8,
    "Conv2D": 8,
    "add -a lhs=4096x4096 --framework torch,jax": 4,
}
#: Number of slowest categories to measure from the shell.
SLOWEST = 3


def measure(quick: bool = False) -> str:
    lines = ["| figure | measured | target | |", "| :-- | --: | --: | :-- |"]
    if quick:
        lines += shell_category("rounding")
        lines += shell_operator(["add"])
    else:
        slowest, found = whole()
        lines += found
        for category in slowest:
            lines += shell_category(category)
        lines += shell_operator(list(SINGLE))
    lines += agreement(COMPARED[:2] if quick else COMPARED, rounds=2 if quick else 12)
    return "\n".join(lines)


def opbench(*words: str, store: str) -> float:
    """Seconds from the shell; a case that failed is a result."""
    began = time.monotonic()
    command = [sys.executable, "-m", "opbench.cli.main", "run", "ops", *words, "--store", store]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return time.monotonic() - began


def results(store: str) -> list[OperatorRow]:
    with Store.open(store, create=False) as opened:
        return rows(opened.results(run=opened.find_run("last"), samples=True))


def whole() -> tuple[list[str], list[str]]:
    """The categories that took longest, and the rows of the table."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/ops.db"
        seconds = opbench(store=store)
        found = results(store)
        with Store.open(store, create=False) as opened:
            stored = opened.results(run=opened.find_run("last"))
        spent: dict[str, float] = {}
        for each in stored:
            category = catalogue()[each.case.name].category
            taken = float(each.result.detail.get("seconds") or 0.0)
            spent[category] = spent.get(category, 0.0) + taken
    failed = sum(row.outcome not in ("ok", "unsupported") for row in found)
    ok = [row for row in found if row.ok and row.estimate]
    precise = sum((r.high or 0) - (r.low or 0) <= 0.1 * (r.estimate or 0) for r in ok)
    slowest = sorted(spent, key=lambda category: spent[category], reverse=True)[:SLOWEST]
    return slowest, [
        row(
            f"whole catalogue, torch float32 typical, forward and backward: {len(found)} cases",
            f"{seconds / 60:.1f} min; {precise} of {len(ok)} within ±5 %",
            f"{WHOLE_MINUTES} min, 90 %",
            seconds <= WHOLE_MINUTES * 60 and precise >= 0.9 * len(ok),
        ),
        row("of them failed", str(failed), "0", failed == 0),
    ]


def shell_category(category: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        seconds = opbench("-a", f"category={category}", store=f"{folder}/ops.db")
    return [
        row(
            f"category {category}, from the shell",
            f"{seconds:.1f} s",
            f"{CATEGORY_SECONDS} s",
            seconds <= CATEGORY_SECONDS,
        )
    ]


def shell_operator(names: Sequence[str]) -> list[str]:
    """`opbench op NAME`: workers that live on answer from the second command on."""
    found = []
    command = [sys.executable, "-m", "opbench.cli.main", "op"]
    for name in names:
        took = []
        for _ in range(4):
            began = time.monotonic()
            subprocess.run([*command, *name.split()], capture_output=True, text=True, check=True)
            took.append(time.monotonic() - began)
        text = f"`opbench op {name}`, median of three with live workers (first: {took[0]:.1f} s)"
        again, goal = median(took[1:]), f"{SINGLE[name]} s"
        found.append(row(text, f"{again:.1f} s", goal, again <= SINGLE[name]))
    return found


#: How many of our blocks a block of torch's Timer lasts: 0.1 s, half of what `blocked_autorange`
#: takes.
TIMER_BLOCKS = 50


def agreement(names: Sequence[str], rounds: int) -> list[str]:
    """Our clock over torch's Timer, both in the same children, a block of each in turn."""
    found = []
    for name in names:
        (case,) = expand([operator_definition(catalogue()[name])], stages=["forward"])
        ratios = [log(in_one_child(case)) for _ in range(rounds)]
        # Of 12 starts: Student's 97.5 % quantile with 11 degrees of freedom.
        half = 2.2 * stdev(ratios) / sqrt(rounds)
        low, middle, high = (exp(fmean(ratios) + side * half) - 1 for side in (-1, 0, 1))
        found.append(
            row(
                f"`{case.stmt}`: ours over torch's Timer, in {rounds} starts "
                f"({low:+.1%} to {high:+.1%})",
                f"{middle:+.2%}",
                f"±{AGREEMENT:.0%}",
                low <= AGREEMENT and high >= -AGREEMENT,
            )
        )
    return found


def in_one_child(case: Case, blocks: int = 15) -> float:
    """The ratio in a fresh start, block by block: ours as in a run, after another child of the same
    case, and the Timer's as long as it measures for a user."""
    worker = Worker(sys.executable, case.preload)
    try:
        session, other = worker.open(), worker.open()
        for each in (session, other):
            each.prepare(case, 0, 60)
            n = each.warm_up(0.1, 0.002, 60)["n"]
            each.pause()
        calls = {"time": n, "time_torch": TIMER_BLOCKS * n}
        values: dict[str, list[float]] = {metric: [] for metric in calls}
        for _ in range(blocks):
            for metric, seen in values.items():
                other.block("time", n, 60, refill=REFILL_ALONE)
                other.pause()
                answer = session.block(metric, calls[metric], 60, refill=REFILL_ALONE)
                session.pause()
                seen.append(answer["value"])
        session.close()
        other.close()
    finally:
        worker.close()
    return median(values["time"]) / median(values["time_torch"])
