"""Runs `Timer.collect_callgrind` in a separate process.

It starts `python` under Valgrind for each case, so the interpreter of this environment must come
first on the PATH. Where Valgrind cannot read torch's libraries (aarch64), it gets the copies that
opbench's own workers load; otherwise there would be nothing to compare with.

The counts are read from its dumps, not from its lists of functions: those come from
`callgrind_annotate`, which (3.19) takes calls with `calls=0` in a second dump for the caller's own
instructions, and then reports a thousand times the count.
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
from opbench.worker import cache
from opbench.worker.callgrind import readable_copies, requests

if requests.requests().under_valgrind:
    readable_copies.watch(cache.folder())
"""

COLLECT = """\
import json, re, sys
from torch.utils.benchmark import Timer
from torch.utils.benchmark.utils.valgrind_wrapper import timer_interface

invoke, totals = timer_interface._ValgrindWrapper._invoke, []

def keep_totals(self, **options):
    found = invoke(self, **{**options, "retain_out_file": True})
    totals.extend(int(re.search("^totals: (.+)$", text, re.M)[1]) for *_, text in found)
    return found

timer_interface._ValgrindWrapper._invoke = keep_totals
asked = json.load(sys.stdin)
timer = Timer(asked["stmt"], setup=asked["setup"])
timer.collect_callgrind(number=asked["number"], repeats=asked["repeats"])
*counts, baseline = totals
json.dump([count - baseline for count in counts], sys.stdout)
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
