"""Several real processes on one store, some of them killed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time

from opbench.store import Store

#: Writes results without end (or up to a count), and says each number after its commit.
WRITER = """
import sys
from opbench.case import Case
from opbench.result import Result, Sample
from opbench.store import RunRecord, Store, StoreError

path, run_id, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = Store.open(path)
try:
    store.begin_run(RunRecord(run_id, created=1.0))
except StoreError:
    pass  # the run is shared, and the other process was quicker
print("ready", flush=True)
number = 0
while number < count:
    case = Case("s", f"n{number % 7}", "call", "pass")
    samples = tuple(Sample(number + i / 7, order=i) for i in range(30))
    store.add_result(run_id, case, Result(case.hash, f"m{number}", "s", samples=samples))
    print(number, flush=True)
    number += 1
"""


def start(path, run_id, count) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), run_id, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_that_create_and_fill_one_store_at_once_lose_nothing(tmp_path):
    path = tmp_path / "sub" / "results.db"
    # Two write runs of their own; two share one and store the same results.
    writers = [start(path, name, 100) for name in ("a", "b", "shared", "shared")]
    for writer in writers:
        writer.communicate(timeout=600)
        assert writer.returncode == 0
    with Store.open(path, create=False) as store:
        for name in ("a", "b", "shared"):
            stored = store.results(run=name, samples=True)
            assert {found.result.metric for found in stored} == {f"m{n}" for n in range(100)}
            assert len(stored) == 100
            assert all(len(found.result.samples) == 30 for found in stored)
    assert [entry.name for entry in path.parent.iterdir()] == ["results.db"]


def test_kill_9_loses_no_committed_result_and_the_store_opens(tmp_path):
    path = tmp_path / "results.db"
    pause = random.Random(20261115)
    for attempt in range(5):
        run_id = f"r{attempt}"
        writer = start(path, run_id, 10**9)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(pause.uniform(0.0, 0.3))
        writer.send_signal(signal.SIGKILL)
        said = [int(line) for line in writer.stdout.read().split("\n") if line]
        writer.wait(timeout=600)
        with Store.open(path) as store:
            stored = store.results(run=run_id, samples=True)
            kept = {found.result.metric for found in stored}
            assert {f"m{number}" for number in said} <= kept
            # At most the one that was committed but not yet said.
            assert len(kept) <= len(said) + 1
            assert all(len(found.result.samples) == 30 for found in stored)
            assert store.find_run(run_id).status == "running"
