"""Runs on a Ray cluster that loses nodes, agents, or its head: no result is lost or doubled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

from perf.chaos.commands import MARKER
from perf.chaos.workers import BENCH, measured, quiet, stored_once
from perf.fleet_runs import survive
from perf.local_ray import LocalCluster, ray_cluster

#: Ray itself waits a minute for a head that does not answer.
HEAD_SECONDS = 150.0
RUN_SECONDS = 300.0


def nodes_killed(groups: int = 24, kills: int = 4) -> list[str]:
    """One run during which nodes and agents are killed; what is wrong after it."""
    found = survive(groups, kills, nodes=2)
    faults = [
        f"{found[name]} {name}" for name in ("lost", "duplicated", "not killed") if found[name]
    ]
    return faults + ([] if found["completed"] else ["not complete"])


def head_killed(folder: Path) -> list[str]:
    """A run whose cluster loses its head, continued on another cluster."""
    mark, faults = uuid.uuid4().hex, []
    (folder / "bench.py").write_text(BENCH)
    with ray_cluster("one") as cluster:
        words = ["bench.py", "--num-runs", "3", "--num-repeats", "400"]
        process = _started(folder, mark, cluster.address, *words)
        deadline = time.monotonic() + RUN_SECONDS
        while process.poll() is None and len(measured(folder)) < 2:
            if time.monotonic() > deadline:
                process.kill()
            time.sleep(0.1)
        before = measured(folder)
        _kill_head(cluster)
        try:
            said = process.communicate(timeout=HEAD_SECONDS)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            said = process.communicate()[0]
            faults.append(f"it hangs without its head: {said[-200:]}")
        if process.returncode not in (0, 2):
            faults.append(f"exit code {process.returncode}: {said[-300:]}")
        faults += quiet(mark, said)
    with ray_cluster("two") as cluster:
        again = _started(folder, mark, cluster.address, "--cont")
        said = again.communicate(timeout=RUN_SECONDS)[0]
        faults += [] if again.returncode == 0 else [f"--cont: {again.returncode}: {said[-300:]}"]
    if not before.items() <= measured(folder).items():
        faults.append("a stored result was lost or measured again")
    return [*faults, *stored_once(folder), *quiet(mark, said)]


def _started(folder: Path, mark: str, address: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "opbench", "run", *words, "--on", "ray"],
        cwd=folder,
        env={**os.environ, "RAY_ADDRESS": address, MARKER: mark},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _kill_head(cluster: LocalCluster) -> None:
    for pid in cluster.head_pids():
        os.kill(pid, signal.SIGKILL)
