"""The front door: what a first comparison takes, and how soon a run shows something.

Wants a quiet machine. A minute on two cores.
"""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

from perf.foundation import row

TITLE = "Front door: lines of a first comparison, and progress while a run works"
CODE = ("api", "cli/run.py", "define/userfile.py", "worker/stub")

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "attention.py"


def measure(quick: bool = False) -> str:
    seen = [watched("0.3s" if quick else "2s") for _ in range(1 if quick else 5)]
    first, gap = (median(each) for each in zip(*seen))
    lines = len([line for line in EXAMPLE.read_text(encoding="utf-8").splitlines() if line.strip()])
    return "\n".join(
        [
            "| what | measured | target | |",
            "|---|---|---|---|",
            row(
                "two attentions, three sizes, time and memory, verdict, chart, page",
                f"{lines} lines, 1 command",
                "≤ 15 lines, 1 command",
                lines <= 15,
            ),
            row("first visible progress of `run`", f"{first:.2f} s", "≤ 1 s", first <= 1),
            row("longest time without a frame", f"{gap:.2f} s", "≤ 1 s", gap <= 1),
        ]
    )


def watched(seconds: str) -> tuple[float, float]:
    """Seconds to the first output on a terminal, and the longest pause between two."""
    with tempfile.TemporaryDirectory(prefix="opbench-perf-") as folder:
        ours, theirs = pty.openpty()
        began = time.monotonic()
        process = subprocess.Popen(
            [
                sys.executable, "-m", "opbench", "run", str(EXAMPLE),
                "--max-time-per-case", seconds, "--no-save",
            ],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=theirs, stdin=subprocess.DEVNULL,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"},
        )  # fmt: skip
        os.close(theirs)
        frames = [began]
        while process.poll() is None:
            if select.select([ours], [], [], 0.05)[0]:
                try:
                    os.read(ours, 1 << 16)
                except OSError:  # the other end is closed
                    break
                frames.append(time.monotonic())
        process.wait()
        os.close(ours)
    pauses = [later - earlier for earlier, later in pairwise(frames[1:])]
    return frames[1] - began, max(pauses)
