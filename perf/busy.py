"""False alarms and the power for a large slowdown, with one busy loop per core.

Sixty pairs of at most ten seconds: about 8 minutes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import Popen
from sys import executable

from perf.comparison import SHARP, alarm_row, measured, of, page, power_row

TITLE = "Comparison: on a busy machine"
CODE = ("analyse/compare.py", "running", "sampling", "stats", "worker", "workers")


def measure(quick: bool = False) -> str:
    each = 1 if quick else 5
    with busy_cores():
        pairs = measured(SHARP, {0.0: 2 * each, 0.25: each})
    rows = [
        alarm_row("A/A with one busy loop per core", of(pairs, 0.0), 0.05),
        power_row("injected 25 % with one busy loop per core", of(pairs, 0.25), 0.80),
    ]
    return page(rows, {"A/A, busy cores": of(pairs, 0.0)})


@contextmanager
def busy_cores() -> Iterator[None]:
    loops = [Popen([executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
