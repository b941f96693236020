"""Fifteen kinds of training step, small ones: what of each is replayed, and what its account says.

The scripts are those of tests/capture/scripts. A step of theirs takes a millisecond or a few, so
that dispatch, Python and waiting are a large part of it: where an account could most easily be
wrong. `python -m perf.capture_kinds FILE NAME [WAY]` records one of them.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TITLE = "Capture: kinds of training step"
CODE = ("capture", "suites/captured", "worker")

KINDS = (
    "gru_attention", "gpt2", "bert", "autocast", "checkpointing", "custom_op", "vmap_step",
    "compiled wrapped", "compiled in_place", "accumulation", "sparse_fft", "jagged",
    "views_in_place", "distributed ddp", "distributed fsdp",
)  # fmt: skip
#: A script makes three steps or so. It runs this often; a step of the second time is recorded.
ROUNDS, STEP = 12, "5"


def measure(quick: bool = False) -> str:
    rows = []
    for kind in KINDS[:2] if quick else KINDS:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(row(kind, Path(folder) / "step.jsonl"))
        print(rows[-1], flush=True)
    head = (
        "| kind of step | calls | replayed | step | while captured / step | Σ in order / step | "
        "Python | waiting | unattributed (≤ 10 %) |\n|---|" + "--:|" * 8
    )
    return "\n".join([head, *rows])


def row(kind: str, path: Path) -> str:
    from opbench.api.run import run
    from opbench.capture.reading import read
    from opbench.report.units import format_value
    from opbench.suites.captured.account import replay_of
    from opbench.suites.captured.findings.ledger import ledger

    command = [sys.executable, "-m", "perf.capture_kinds", str(path), *kind.split()]
    root = Path(__file__).parent.parent
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    capture = read(path)
    finished = run(path, save=False, imports=("tests.capture.scripts.my_ops",))
    found = replay_of(capture, finished.results)
    account = ledger(found)
    assert account is not None, "not every call was tried"
    parts, step = account.total.parts, account.total.measured or 0.0
    replayed = parts["operators"] + parts["compiled"]
    slower = float(capture.header["captured_seconds"]) / step
    rest = (account.total.unattributed or 0.0) / step
    cells = [
        kind,
        str(sum(call.count for call in capture.calls) // capture.steps),
        f"{len(capture.calls) - len(account.refused)} of {len(capture.calls)}",
        format_value(step, "s"),
        f"{slower:.2f}",
        f"{replayed / step:.2f}",
        *(f"{parts[part] / step:.0%}" for part in ("Python", "waiting")),
        f"{rest:.0%}" + ("" if abs(rest) <= 0.1 else " (missed)"),
    ]
    return f"| {' | '.join(cells)} |"


def record(path: str, name: str, *way: str) -> None:
    import opbench

    script: Any = importlib.import_module(f"tests.capture.scripts.{name}")
    with opbench.record(path, steps=STEP):
        for _ in range(ROUNDS):
            script.losses(*(each.replace("_", " ") for each in way))


if __name__ == "__main__":
    record(*sys.argv[1:])
