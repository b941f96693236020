"""`Timer.collect_callgrind`, really run, in a process of its own.

It starts `python` under Valgrind for each case, so the interpreter of this environment must come
first on the PATH. Where Valgrind cannot read torch's libraries (aarch64), it is given the copies
that opbench's own workers load, or there would be nothing to compare with.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

LOAD_COPIES = """\
from opbench.worker import cache, callgrind, shadow

if callgrind.requests().under_valgrind:
    shadow.load(["torch"], cache.folder())
"""

COLLECT = """\
import json, sys
from torch.utils.benchmark import Timer

asked = json.load(sys.stdin)
timer = Timer(asked["stmt"], setup=asked["setup"])
stats = timer.collect_callgrind(number=asked["number"], repeats=asked["repeats"])
baseline = stats[-1].baseline_exclusive_stats.sum()
json.dump([found.counts() - baseline for found in stats], sys.stdout)
"""


@dataclass(frozen=True)
class Collected:
    #: Instructions of all calls of each repeat, its baseline (`pass`) subtracted.
    counts: tuple[int, ...]
    seconds: float


def collect(stmt: str, setup: str, number: int = 100, repeats: int = 2) -> Collected:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(LOAD_COPIES)
        here = str(Path(sys.executable).parent)
        process = subprocess.run(
            [sys.executable, "-c", COLLECT],
            input=json.dumps({"stmt": stmt, "setup": setup, "number": number, "repeats": repeats}),
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "PATH": os.pathsep.join([here, os.environ.get("PATH", "")]),
                "PYTHONPATH": folder,
                "PYTHONHASHSEED": "0",
                "OMP_NUM_THREADS": "1",
                "OPENBLAS_NUM_THREADS": "1",
            },
        )
    if process.returncode:
        raise RuntimeError(f"Timer.collect_callgrind failed: {process.stderr[-600:]}")
    return Collected(tuple(json.loads(process.stdout)), time.monotonic() - began)
