"""Several real processes on one store, some of them killed."""

from __future__ import annotations

import gc
import random
import signal
import subprocess
import sys
import time

import pytest

from opbench.errors import UserError
from opbench.files import check_writable, content, is_open_database
from opbench.store import RunRecord, Store

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


def test_a_store_that_is_open_twice_in_a_process_is_safe_from_other_processes(tmp_path):
    """Closing any descriptor of a file gives up all locks that the process has on it. Without
    them, the next process to leave takes itself for the last, and removes the log that this one
    writes to."""
    path = tmp_path / "results.db"
    written = []
    with Store.open(path) as held:
        held.begin_run(RunRecord("first", created=1.0))
        for attempt in range(3):
            with Store.open(path, create=False) as again:
                assert "first" in {run.id for run in again.runs()}
            other = start(path, f"other{attempt}", 20)
            other.communicate(timeout=600)
            assert other.returncode == 0
            held.begin_run(RunRecord(f"mine{attempt}", created=2.0))
            written += [f"other{attempt}", f"mine{attempt}"]
            assert {run.id for run in held.runs()} == {"first", *written}
            with Store.open(path, create=False) as again:
                assert {run.id for run in again.runs()} == {"first", *written}
    code = f"""
from opbench.store import RunRecord, Store
with Store.open({str(path)!r}, create=False) as store:
    print(*sorted(run.id for run in store.runs()))
"""
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.split() == sorted(["first", *written])


def test_a_store_that_is_open_is_read_in_no_other_way(tmp_path):
    path = tmp_path / "results.db"
    other = tmp_path / "link.db"
    with Store.open(path) as store:
        assert store.runs() == []
        other.symlink_to(path)
        with pytest.raises(UserError, match="is a store, and open"):
            content(other)
        with pytest.raises(UserError, match="is a database, which is not overwritten"):
            check_writable(other)
    assert content(other).startswith(b"SQLite format 3")


def test_a_store_that_nobody_closed_is_known_until_it_is_collected(tmp_path):
    path = tmp_path / "results.db"
    Store.open(path).begin_run(RunRecord("first", created=1.0))
    gc.collect()
    assert not is_open_database(path)
    left = Store.open(path)
    assert left.runs()
    assert is_open_database(path)
