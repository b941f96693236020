"""The operator catalogue: how long it takes, and whether it agrees with torch's own timer."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from statistics import median

from opbench.case import Case
from opbench.define.expand import expand
from opbench.store import Store
from opbench.suites.ops.catalogue import catalogue
from opbench.suites.ops.definition import operator_definition
from opbench.suites.ops.rows import OperatorRow, rows
from opbench.workers.process import Worker
from perf.foundation import row

TITLE = "Operators: the whole catalogue, a category, one operator; agreement with torch's Timer"
CODE = ("running", "sampling", "stats", "suites/ops", "worker", "workers")

WHOLE_MINUTES, CATEGORY_SECONDS, OPERATOR_SECONDS, AGREEMENT = 15, 60, 8, 0.03

#: One of each kind: memory-bound, arithmetic-bound, two reductions, a layer, a copy.
COMPARED = ("add", "exp", "sum", "softmax", "LayerNorm", "concat")
SINGLE = ("add", "softmax", "LSTM", "Conv2D")
#: Number of slowest categories to measure from the shell.
SLOWEST = 3


def measure(quick: bool = False) -> str:
    lines = ["| figure | measured | target | |", "| :-- | --: | --: | :-- |"]
    if quick:
        lines += shell_category("rounding")
        lines += shell_operator(SINGLE[:1])
    else:
        slowest, found = whole()
        lines += found
        for category in slowest:
            lines += shell_category(category)
        lines += shell_operator(SINGLE)
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
            f"{WHOLE_MINUTES} min",
            seconds <= WHOLE_MINUTES * 60,
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
    found = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            seconds = opbench("-a", f"op={name}", store=f"{folder}/ops.db")
        text = f"operator {name}, from the shell, its worker starts included"
        goal = f"{OPERATOR_SECONDS} s"
        found.append(row(text, f"{seconds:.1f} s", goal, seconds <= OPERATOR_SECONDS))
    return found


#: Torch's timer in a separate process: answers each line `n` with the seconds per call.
PEER = """import json, sys
from torch.utils.benchmark import Timer
case = json.loads(sys.stdin.readline())
setup = "seed = 0\\n" + case["globals"] + "\\n" + case["setup"]
timer = Timer(case["stmt"], setup, num_threads=1)
timer.timeit(3)
print("ready", flush=True)
for line in sys.stdin:
    print(timer.timeit(int(line)).mean, flush=True)
"""


def agreement(names: Sequence[str], rounds: int) -> list[str]:
    found = []
    for name in names:
        (case,) = expand([operator_definition(catalogue()[name])], stages=["forward"])
        ratios = [interleaved(case) for _ in range(rounds)]
        ratio = median(ratios) - 1
        found.append(
            row(
                f"`{case.stmt}`: ours over torch's Timer, interleaved, {rounds} fresh pairs of "
                f"processes ({min(ratios) - 1:+.1%} to {max(ratios) - 1:+.1%})",
                f"{ratio:+.2%}",
                f"±{AGREEMENT:.0%}",
                abs(ratio) <= AGREEMENT,
            )
        )
    return found


def interleaved(case: Case, blocks: int = 15) -> float:
    """One of our children and one process with the Timer, alternating block by block."""
    worker = Worker(sys.executable, case.preload)
    command = [sys.executable, "-c", PEER]
    peer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    requests, answers = peer.stdin, peer.stdout
    assert requests is not None
    assert answers is not None

    def ask(text: str) -> str:
        requests.write(f"{text}\n")
        requests.flush()
        return answers.readline()

    try:
        ask(json.dumps({"stmt": case.stmt, "setup": case.setup, "globals": case.globals}))
        session = worker.open()
        session.prepare(case, 0, 60)
        n = max(5, session.warm_up(0.2, 0.02, 60)["n"])
        ours, theirs = [], []
        for _ in range(blocks):
            ours.append(session.block("time", n, 60)["value"])
            theirs.append(float(ask(str(n))))
        session.close()
    finally:
        requests.close()
        peer.wait(timeout=30)
        worker.close()
    return median(ours) / median(theirs)
