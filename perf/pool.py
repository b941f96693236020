"""The pool of worker starts: how soon they are ready, and what a quick question costs.

Wants a quiet machine: it measures waiting, not work. Two minutes on two cores.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from statistics import median

from opbench.workers.process import Worker, environment_of
from opbench.workers.shared import Supervisor
from perf.foundation import row

TITLE = "Pool: worker starts that outlive a command, and quick questions"
CODE = ("sampling", "suites/snippets", "worker/pool", "workers")

STARTS = 12
STATEMENTS = ("torch.add(x, y)", "torch.mul(x, y)")
SETUP = "x, y = torch.rand(2, n, n)"


def measure(quick: bool = False) -> str:
    rounds = 2 if quick else 7
    with tempfile.TemporaryDirectory(prefix="opbench-perf-") as folder:
        os.chmod(folder, 0o700)
        os.environ["XDG_RUNTIME_DIR"] = folder
        os.environ.pop("CI", None)
        try:
            return "\n".join(_rows(rounds))
        finally:
            subprocess.run([sys.executable, "-m", "opbench", "workers", "--stop"], check=True)


def _rows(rounds: int) -> list[str]:
    first, _ = asked()
    later = [asked() for _ in range(rounds)]
    seconds = median(took for took, _ in later)
    widths = sorted(width for _, width in later)
    started(STARTS)  # the first time they import
    ready = median(started(STARTS) for _ in range(rounds))
    wide = median(widths)
    return [
        "| what | measured | target | |",
        "|---|---|---|---|",
        row(
            f"{STARTS} torch starts ready in the second command",
            f"{ready:.2f} s",
            "≤ 1 s",
            ready <= 1,
        ),
        row("two statements, first command", f"{first:.1f} s", "≤ 15 s", first <= 15),
        row("the same from the second on", f"{seconds:.1f} s", "≤ 5 s", seconds <= 5),
        row(
            "half of the interval of their ratio, median",
            f"±{wide:.1%} (±{widths[0]:.1%} to ±{widths[-1]:.1%})",
            "≤ ±3 %",
            wide <= 0.03,
        ),
    ]


def asked(statements: Sequence[str] = STATEMENTS) -> tuple[float, float]:
    """Seconds of one `opbench time`, and half the width of the ratio's interval."""
    began = time.monotonic()
    command = [sys.executable, "-m", "opbench", "time", *statements, "-s", SETUP, "-a", "n=64"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    took = time.monotonic() - began
    found = re.search(r"\[([\d.]+), ([\d.]+)\]", done.stdout)
    assert found, done.stdout
    low, high = float(found[1]), float(found[2])
    return took, (high - low) / (high + low)


def started(count: int) -> float:
    """Seconds from nothing to so many live workers, as a command gets them."""
    began = time.monotonic()
    supervisor = Supervisor()
    env = environment_of({"OMP_NUM_THREADS": "1"})
    workers = [
        Worker(
            sys.executable,
            ("torch",),
            start=number,
            leased=supervisor.lease(sys.executable, ("torch",), start=number, env=env, cpus=()),
        )
        for number in range(count)
    ]
    for worker in workers:
        worker.wait_ready()
    took = time.monotonic() - began
    for worker in workers:
        worker.let_go()
    for worker in workers:
        worker.close()
    supervisor.close()
    return took
