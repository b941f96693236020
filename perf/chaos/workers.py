"""Runs whose workers, children or command line somebody kills: every case has its result once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

from perf.chaos.commands import MARKER, _marked, pids

CASES = 12
BENCH = f"""
import opbench as ob

@ob.bench(n={list(range(CASES))})
def case(n):
    sum(range(2000))
"""
QUICK = ("--num-runs", "3", "--num-repeats", "20")
END_SECONDS = 5.0
RUN_SECONDS = 120.0


def worker_killed(folder: Path, rng: random.Random) -> list[str]:
    """One run, one of whose workers is killed from outside; what is wrong after it."""
    mark = uuid.uuid4().hex
    process = _started(folder, mark, "bench.py", *QUICK)
    killed = _killed_one(process, mark, rng, child=False)
    said = process.communicate(timeout=RUN_SECONDS)[0]
    faults = [] if process.returncode == 0 and killed else [f"exit code {process.returncode}"]
    return [*faults, *stored_once(folder), *quiet(mark, said)]


def child_killed(folder: Path, rng: random.Random) -> list[str]:
    """One run, one of whose children is killed from outside. That looks like a crash of the case in
    it, which a continued run measures again; the others have their results."""
    mark = uuid.uuid4().hex
    process = _started(folder, mark, "bench.py", *QUICK)
    _killed_one(process, mark, rng, child=True)
    said = process.communicate(timeout=RUN_SECONDS)[0]
    faults = [] if len(measured(folder)) >= CASES - 1 else ["more than one case has no result"]
    if process.returncode == 1 and "crashed" in said:
        said += _started(folder, mark, "--cont").communicate(timeout=RUN_SECONDS)[0]
    return [*faults, *stored_once(folder), *quiet(mark, said)]


def _killed_one(process: subprocess.Popen[str], mark: str, rng: random.Random, child: bool) -> bool:
    """Whether a worker, or a child of one, was killed before the command had ended."""
    while process.poll() is None:
        time.sleep(rng.uniform(0.02, 0.3))
        workers = [pid for pid in pids(mark) if _is_worker(pid)]
        victims = [pid for pid in workers if (_parent(pid) in workers) == child]
        if victims:
            try:
                os.kill(rng.choice(victims), rng.choice((signal.SIGKILL, signal.SIGTERM)))
                return True
            except ProcessLookupError:
                continue
    return False


def command_killed(folder: Path, rng: random.Random) -> list[str]:
    """A run killed some times and continued: nothing finished is lost or measured twice."""
    mark, faults = uuid.uuid4().hex, []
    before: dict[str, float] = {}
    for attempt in range(4):
        words = ["--cont"] if _has_run(folder) else ["bench.py", *QUICK]
        process = _started(folder, mark, *words)
        if attempt < 3:
            time.sleep(rng.uniform(0.3, 2.5))
            process.kill()
        said = process.communicate(timeout=RUN_SECONDS)[0]
        faults += quiet(mark, said)
        now = measured(folder)
        if not before.items() <= now.items():
            faults.append("a stored result was lost or measured again")
        before = now
    return [*faults, *stored_once(folder)]


def _started(folder: Path, mark: str, *words: str) -> subprocess.Popen[str]:
    (folder / "bench.py").write_text(BENCH)
    return subprocess.Popen(
        [sys.executable, "-m", "opbench", "run", *words],
        cwd=folder,
        env={**os.environ, MARKER: mark},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _is_worker(pid: int) -> bool:
    try:
        return b"main.py\0parent" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def quiet(mark: str, said: str) -> list[str]:
    """No traceback was printed, and no process is left after some seconds."""
    deadline = time.monotonic() + END_SECONDS
    while _marked(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = [f"process {each}" for each in _marked(mark)]
    return left + (["a traceback"] if "Traceback" in said else [])


def _has_run(folder: Path) -> bool:
    from opbench.store import Store

    path = folder / ".opbench" / "results.db"
    if not path.exists():
        return False
    with Store.open(path, create=False) as store:
        return bool(store.runs())


def measured(folder: Path) -> dict[str, float]:
    """When each case with a value was measured."""
    from opbench.store import Store

    if not _has_run(folder):
        return {}
    with Store.open(folder / ".opbench" / "results.db", create=False) as store:
        return {f.case.id: f.result.created for f in store.results(outcome="ok")}


def stored_once(folder: Path) -> list[str]:
    from opbench.store import Store

    if not _has_run(folder):
        return ["nothing was stored"]
    with Store.open(folder / ".opbench" / "results.db", create=False) as store:
        found = store.results()
    ids = [each.case.id for each in found]
    faults = [f"{len(ids) - len(set(ids))} results twice"] if len(set(ids)) < len(ids) else []
    wrong = [each for each in found if not each.result.ok]
    faults += [f"{each.case.id}: {each.result.outcome_text}" for each in wrong]
    return faults + ([f"{len(set(ids))} of {CASES} cases"] if len(set(ids)) != CASES else [])
