"""Runs whose database server goes away in the middle and comes back: complete without a person."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from perf.chaos.workers import BENCH, CASES
from perf.local_postgres import Server

#: How long a run may take without the outage.
RUN_SECONDS = 120.0


def outage(server: Server, folder: Path, seconds: float, rng: random.Random) -> list[str]:
    """One run through one outage of that many seconds; what is wrong after it."""
    from opbench.store import Store

    url = server.new_database()
    (folder / "bench.py").write_text(BENCH)
    words = ["run", "bench.py", "--num-runs", "3", "--num-repeats", "400", "--store", url]
    process = subprocess.Popen(
        [sys.executable, "-m", "opbench", *words],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with Store.open(url) as store:  # the run makes the tables, or we do
        while process.poll() is None and not store.results():
            time.sleep(0.02)
    time.sleep(rng.uniform(0.0, 0.5))
    server.stop(rng.choice(("fast", "immediate")))
    time.sleep(seconds)
    server.start()
    said = process.communicate(timeout=RUN_SECONDS + seconds)[0]
    with Store.open(url, create=False) as store:
        found = store.results()
    ids = {each.case.id for each in found}
    faults = [f"exit code {process.returncode}: {said[-300:]}"] if process.returncode else []
    if len(ids) != CASES or len(found) != CASES:
        faults.append(f"{len(found)} results of {len(ids)} of {CASES} cases")
    return faults + (["a traceback"] if "Traceback" in said else [])
