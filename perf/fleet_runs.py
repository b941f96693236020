"""Cost, speedup and recovery of a fleet: several Ray nodes on this machine."""

from __future__ import annotations

import logging
import os
import random
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from opbench.case import Case
from opbench.fleet.options import Fleet
from opbench.plan.groups import PlannedGroup
from opbench.plan.policy import Fixed
from opbench.plan.request import Request
from opbench.running.listener import FleetState, Listener
from opbench.running.recording import Finished, Recording
from opbench.store import Store
from perf.local_ray import LocalCluster, ray_cluster

#: One call, one start: what is timed here is everything around it.
ONCE = Fixed(num_runs=1, num_repeats=1, starts=1, warmup_seconds=0.0)


def request(cases: Sequence[Case], fleet: Fleet | None = None) -> Request:
    groups = tuple(PlannedGroup((case,)) for case in cases)
    return Request(groups, ONCE, seed=0, fleet=fleet)


def empty(count: int) -> list[Case]:
    """Groups with nothing to measure: planned, sent, answered, stored."""
    why = "it is empty"
    return [Case("perf", f"empty{n}", "call", "pass", unsupported=why) for n in range(count)]


def sleeping(count: int, seconds: float) -> list[Case]:
    stmt = f"time.sleep({seconds})"
    return [Case("perf", f"sleep{n}", "call", stmt, globals="import time") for n in range(count)]


def run(
    cases: Sequence[Case], store: Path | str, fleet: Fleet | None, listener: Listener | None = None
) -> tuple[Finished, float]:
    recording = Recording.begun(store, True, {}, "python -m perf fleet")
    began = time.perf_counter()
    finished = recording.measure(request(cases, fleet), listener or Listener())
    return finished, time.perf_counter() - began


def connected(cluster: LocalCluster) -> None:
    import ray

    ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)


def cost_per_group(groups: int) -> tuple[float, float]:
    """Seconds per empty group: on this machine alone, and over a fleet of one node."""
    few = max(1, groups // 100)
    with TemporaryDirectory(prefix="opbench-perf-") as folder, ray_cluster("one") as cluster:
        connected(cluster)
        found = []
        for name, fleet in (("local", None), ("fleet", Fleet("ray"))):
            taken = []
            for count in (few, groups):
                _, seconds = run(empty(count), Path(folder) / f"{name}{count}.db", fleet)
                taken.append(seconds)
            # Starting agents is paid once per run, however long it is.
            found.append((taken[1] - taken[0]) / (groups - few))
    return found[0], found[1]


class Clock(Listener):
    """Notes when the first group runs, so that the start of the agents is left out."""

    def __init__(self) -> None:
        self.first = 0.0

    def fleet(self, state: FleetState) -> None:
        if state.running and not self.first and not state.starting:
            self.first = time.perf_counter()


def speedup(nodes: int, groups: int, seconds: float) -> tuple[float, float, float]:
    """Speedup over one node; seconds per group on one node, and of all groups on all nodes."""
    names = [f"n{number}" for number in range(nodes)]
    with TemporaryDirectory(prefix="opbench-perf-") as folder:
        with ray_cluster("n0") as cluster:
            connected(cluster)
            alone = max(4, groups // 10)
            clock = Clock()
            run(sleeping(alone, seconds), Path(folder) / "one.db", Fleet("ray"), clock)
            each = (time.perf_counter() - clock.first) / alone
        with ray_cluster(*names) as cluster:
            connected(cluster)
            clock = Clock()
            run(sleeping(groups, seconds), Path(folder) / "many.db", Fleet("ray"), clock)
            together = time.perf_counter() - clock.first
    return groups * each / together, each, together


class Killer(Listener):
    """Kills nodes and agents at random times during a run; another node replaces a killed one."""

    def __init__(self, cluster: LocalCluster, kills: int, groups: int, seed: int = 1) -> None:
        self._cluster = cluster
        self._rng = random.Random(seed)
        # Spread over the run by its progress, not by the clock.
        self._due = sorted(self._rng.randrange(1, groups - 1) for _ in range(kills))
        self._working: threading.Thread | None = None
        self._number = 0
        self.nodes = self.agents = 0

    def fleet(self, state: FleetState) -> None:
        if not self._due or state.done < self._due[0] or not state.running:
            return
        if self._working is not None and self._working.is_alive():
            return
        self._due.pop(0)
        kill = self._kill_node if self._rng.random() < 0.5 else self._kill_agent
        self._working = threading.Thread(target=kill)
        self._working.start()

    @property
    def left(self) -> int:
        return len(self._due)

    def join(self) -> None:
        if self._working is not None:
            self._working.join()

    def _kill_node(self) -> None:
        name = self._rng.choice(sorted(self._cluster.nodes))
        self._cluster.remove(name)
        self._number += 1
        self._cluster.add(f"again{self._number}")
        self.nodes += 1

    def _kill_agent(self) -> None:
        """Kills a random agent: Ray names a process after the class it runs."""
        import psutil

        agents = []
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or []
            if words and words[0].startswith("ray::Agent"):
                agents.append(process.pid)
        if agents:
            os.kill(self._rng.choice(agents), signal.SIGKILL)
            self.agents += 1


def survive(groups: int, kills: int, nodes: int = 4) -> dict[str, int]:
    """Lost and duplicated results after that many kills, and what was killed."""
    names = [f"n{number}" for number in range(nodes)]
    with TemporaryDirectory(prefix="opbench-perf-") as folder, ray_cluster(*names) as cluster:
        connected(cluster)
        killer = Killer(cluster, kills, groups)
        cases = sleeping(groups, 0.2)
        store = Path(folder) / "results.db"
        finished, _ = run(cases, store, replace(Fleet("ray"), retries=10), killer)
        killer.join()
        with Store.open(store, create=False) as opened:
            stored = [s.case.id for s in opened.results(outcome="ok")]
            status = opened.find_run("last").status
    return {
        "nodes": killer.nodes,
        "agents": killer.agents,
        "not killed": killer.left,
        "lost": len({case.id for case in cases} - set(stored)),
        "duplicated": len(stored) - len(set(stored)),
        "completed": int(status == "finished" and finished.status == "finished"),
    }
