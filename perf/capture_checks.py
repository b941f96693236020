"""Two measurements in a separate process: `python -m perf.capture_checks WHAT MODEL ROUNDS`.

`overhead`: plain steps alternate with captured steps. `counts`: the calls of a captured step, and
what torch's profiler counts in the same step.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from perf.capture_train import trainer


def overhead(model: str, rounds: int) -> dict[str, Any]:
    """Each captured step is the first of its recording, in which every call is new."""
    import opbench

    step = trainer(model)
    for _ in range(3):
        step()
    plain, captured = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            began = time.perf_counter()
            step()
            plain.append(time.perf_counter() - began)
            with opbench.record(Path(folder) / "step.jsonl"):
                began = time.perf_counter()
                step()
                captured.append(time.perf_counter() - began)
    return {"plain": median(plain), "captured": median(captured),
            "ratio": median(c / p for c, p in zip(captured, plain))}  # fmt: skip


def counts(model: str) -> dict[str, Any]:
    """Calls by name, in the capture and under the profiler; nested calls are not counted."""
    import torch

    import opbench
    from opbench.capture.reading import read

    step = trainer(model)
    for _ in range(2):
        step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step.jsonl"
        with opbench.record(path):
            step()
        found = Counter[str]()
        for call in read(path).calls:
            found[call.operator] += call.count
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        step()
    seen = Counter[str]()
    for event in profile.events():
        counted = event.name in found or (event.name.startswith("aten::") and ends(event, found))
        if counted and not inside(event, found):
            seen[event.name] += 1
    names = sorted(set(found) | set(seen))
    return {
        "captured": sum(found.values()),
        "profiled": sum(seen.values()),
        "differences": {n: [found[n], seen[n]] for n in names if found[n] != seen[n]},
    }


def ends(event: Any, captured: Counter[str]) -> bool:
    """Whether nothing below an operator was captured; then it should have been captured itself."""
    return not any(
        child.name.startswith("aten::") and (child.name in captured or not ends(child, captured))
        for child in event.cpu_children
    )


def inside(event: Any, captured: Counter[str]) -> bool:
    """Whether a captured call made this one, or one that is counted already."""
    parent = event.cpu_parent
    while parent is not None:
        if parent.name in captured or (parent.name.startswith("aten::") and ends(parent, captured)):
            return True
        parent = parent.cpu_parent
    return False


if __name__ == "__main__":
    what, model, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    print(json.dumps(overhead(model, rounds) if what == "overhead" else counts(model)))
