"""A real cluster of two Ray nodes and a real PostgreSQL: groups, nodes, deaths, second chances."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from perf.local_ray import LocalCluster

from opbench.case import Case
from opbench.result import Result
from opbench.run.fleet.options import Fleet
from opbench.run.listener import FleetState, Listener
from opbench.run.plan import Baseline, groups
from opbench.run.policy import Fixed
from opbench.run.recording import Finished, Recording
from opbench.run.runner import Request
from opbench.store import Store

#: Quick, and what matters here is not how precise.
ONCE = Fixed(num_runs=2, num_repeats=2, starts=1, warmup_seconds=0.0)

QUICK = ("--num-runs", "1", "--num-repeats", "1")

SLOW = """
import time
import opbench as ob


@ob.bench(n=list(range(12)))
def nap(n):
    time.sleep(0.2)
"""

BENCH = """
import opbench as ob
from fleet_helper import twice


@ob.bench(n=[1, 10, 100, 1000], mode=["plain", "doubled"])
def total(n, mode):
    sum(range(twice(n) if mode == "doubled" else n))
"""


@pytest.fixture
def command(cluster: LocalCluster, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess]:
    """`opbench` in a process of its own, on this cluster."""
    (tmp_path / "bench_fleet.py").write_text(BENCH)
    (tmp_path / "fleet_helper.py").write_text("def twice(n):\n    return 2 * n\n")

    def call(*words: object, **more: object) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "opbench.cli.main", *map(str, words)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "COLUMNS": "160", "RAY_ADDRESS": cluster.address},
            **more,  # type: ignore[call-overload]
        )

    return call


@pytest.fixture
def connected(cluster: LocalCluster) -> None:
    import ray

    if not ray.is_initialized():
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")


def cases(count: int, seconds: float = 0.0, modes: Sequence[str] = ("plain",)) -> list[Case]:
    return [
        Case("fleet", f"n{number}", "call", f"time.sleep({seconds})", globals="import time",
             labels=(("mode", mode),))
        for number in range(count)
        for mode in modes
    ]  # fmt: skip


def measure(
    made: Sequence[Case],
    store: Path,
    fleet: Fleet,
    listener: Listener | None = None,
    baseline: str = "",
) -> tuple[Finished, list[tuple[Case, Result]]]:
    """What the run says, and what the store has."""
    against = Baseline.parse(baseline) if baseline else None
    request = Request(tuple(groups(made, against)), ONCE, seed=0, fleet=fleet)
    recording = Recording.begun(store, True, {}, "opbench run")
    finished = recording.measure(request, listener or Listener(), against)
    with Store.open(store, create=False) as opened:
        return finished, [(s.case, s.result) for s in opened.results(samples=True)]


def agents() -> list[int]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if words and words[0].startswith("ray::Agent"):
            found.append(process.pid)
    return found


# -- the command line, end to end -----------------------------------------------------------------


def test_a_run_over_the_fleet_into_postgresql(command, server, url):
    done = command(
        "run", "bench_fleet.py", "--on", "ray", "--store", url, "--baseline", "mode=plain",
        "--num-runs", 3, "--num-repeats", 2, "--name", "nightly",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert server.password not in done.stdout + done.stderr
    with Store.open(url, create=False) as store:
        run = store.find_run("nightly")
        stored = store.results(run=run, samples=True)
    assert run.status == "finished"
    assert server.password not in str(run)
    assert set(run.machine["fleet"]) >= {"one", "two"}
    assert Counter(s.case.id for s in stored) == Counter({s.case.id: 1 for s in stored})
    assert len(stored) == 8
    assert all(s.result.ok and s.result.samples for s in stored)
    assert {s.result.node for s in stored} == {"one", "two"}
    for size in (1, 10, 100, 1000):
        sides = [s.result for s in stored if s.case.axes["n"] == size]
        assert len({side.node for side in sides}) == 1, "a comparison never leaves its node"
        assert len({side.group for side in sides}) == 1
    again = command("run", "--cont", "--name", "nightly", "--store", url)
    assert again.returncode == 0, again.stderr
    with Store.open(url, create=False) as store:
        assert len(store.results(run=run)) == 8
    compared = command("compare", "nightly", "--col", "mode", "--store", url)
    assert compared.returncode == 0, compared.stderr
    assert "total[n=1000]" in compared.stdout


def test_a_driver_that_is_killed_costs_what_was_running_and_cont_brings_the_rest(
    command, cluster, tmp_path, eventually
):
    (tmp_path / "bench_slow.py").write_text(SLOW)
    store = tmp_path / "results.db"
    words = ("run", "bench_slow.py", "--on", "ray", "--store", store, *QUICK)
    driver = subprocess.Popen(
        [sys.executable, "-m", "opbench.cli.main", *map(str, words)],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "RAY_ADDRESS": cluster.address},
    )

    def some() -> bool:
        if not store.exists():
            return False
        with Store.open(store, create=False) as opened:
            return len(opened.results()) >= 3

    assert eventually(some, 60)
    driver.send_signal(signal.SIGKILL)
    driver.wait(10)
    with Store.open(store, create=False) as opened:
        before = {s.case.id: s.result.created for s in opened.results()}
    assert 3 <= len(before) < 12
    assert eventually(lambda: not agents(), 30), "agents end with their driver"
    done = command("run", "--cont", "--store", store)
    assert done.returncode == 0, done.stderr
    with Store.open(store, create=False) as opened:
        stored = opened.results()
        assert opened.find_run("last").status == "finished"
    assert len(stored) == len({s.case.id for s in stored}) == 12
    for s in stored:
        if s.case.id in before:
            assert s.result.created == before[s.case.id], "what was finished is not measured again"


# -- deaths ---------------------------------------------------------------------------------------


class KillAgents(Listener):
    """Kills every agent there is, once for each of the given numbers of finished groups."""

    def __init__(self, at: Sequence[int]) -> None:
        self.at = list(at)
        self.lost = 0

    def fleet(self, state: FleetState) -> None:
        self.lost = state.lost
        if self.at and state.done >= self.at[0] and state.running:
            self.at.pop(0)
            for pid in agents():
                os.kill(pid, signal.SIGKILL)


def test_agents_that_die_cost_nothing_but_time(connected, tmp_path):
    made = cases(10, 0.05, ("plain", "other"))
    killer = KillAgents([2, 6])
    finished, stored = measure(made, tmp_path / "r.db", Fleet("ray"), killer, baseline="mode=plain")
    assert finished.status == "finished"
    assert killer.at == []
    assert killer.lost >= 2
    assert Counter(case.id for case, _ in stored) == Counter(case.id for case in made)
    assert all(result.ok for _, result in stored)


def test_a_group_whose_agents_keep_dying_is_given_up_with_the_reason_and_cont_tries_again(
    connected, tmp_path
):
    made = cases(1, 0.1)
    store = tmp_path / "r.db"
    finished, stored = measure(made, store, replace(Fleet("ray"), retries=1), KillAgents([0, 0]))
    ((_, result),) = stored
    assert finished.status == "finished"
    assert finished.failures
    assert result.outcome == "failed"
    assert result.reason.startswith("given up after 2 attempts: on node ")
    assert result.node == ""
    recording = Recording.resumed(store, "")
    request = Request(tuple(groups(made)), ONCE, seed=0, fleet=Fleet("ray"))
    recording.measure(request, Listener())
    with Store.open(store, create=False) as opened:
        (again,) = opened.results()
    assert again.result.ok
    assert again.result.node in ("one", "two")


class LoseNode(Listener):
    def __init__(self, cluster: LocalCluster, name: str, at: int) -> None:
        self.cluster, self.name, self.at = cluster, name, at
        self.nodes: list[int] = []
        self.lost = 0

    def fleet(self, state: FleetState) -> None:
        self.nodes.append(state.nodes)
        self.lost = state.lost
        if self.name in self.cluster.nodes and state.done >= self.at and state.running > 1:
            self.cluster.remove(self.name)


def test_a_node_that_dies_leaves_its_groups_to_the_others(connected, cluster, tmp_path):
    cluster.add("doomed")
    made = cases(14, 0.1)
    loser = LoseNode(cluster, "doomed", 3)
    finished, stored = measure(made, tmp_path / "r.db", Fleet("ray"), loser)
    assert "doomed" not in cluster.nodes
    assert finished.status == "finished"
    assert Counter(case.id for case, _ in stored) == Counter(case.id for case in made)
    assert all(result.ok for _, result in stored)
    assert max(loser.nodes) == 3
    assert loser.lost >= 1


# -- nodes as a level -----------------------------------------------------------------------------


def test_replicas_are_measured_on_different_nodes_and_compared_node_by_node(connected, tmp_path):
    made = cases(2, 0.0, ("plain", "other"))
    store = tmp_path / "r.db"
    fleet = replace(Fleet("ray"), replicas=2)
    finished, stored = measure(made, store, fleet, baseline="mode=plain")
    assert len(stored) == 8
    assert Counter((case.id, result.node) for case, result in stored) == Counter(
        (case.id, node) for case in made for node in ("one", "two")
    )
    from opbench.analyse.compare import compare_pairs
    from opbench.analyse.matching import match
    from opbench.report.terminal import as_text
    from opbench.store.records import StoredResult

    sides = [
        [StoredResult("r", c, r) for c, r in stored if c.axes["mode"] == mode]
        for mode in ("plain", "other")
    ]
    rows = compare_pairs(match(*sides, without="mode").pairs, names=("plain", "other")).rows
    assert [row.nodes for row in rows] == [2, 2]
    assert all("2 nodes, which differ by" in row.note for row in rows)
    assert "one" in as_text(finished)
    assert "two" in as_text(finished)


def test_counts_follow_times_and_a_requirement_chooses_the_node(connected, cluster, tmp_path):
    import shutil

    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    cluster.add("labelled", labels={"zone": "a"})
    try:
        made = cases(2)
        fleet = replace(Fleet("ray"), require={"zone": "a"})
        request = Request(
            tuple(groups(made)), ONCE, metrics=("time", "instructions"), jobs=2, seed=0, fleet=fleet
        )
        recording = Recording.begun(tmp_path / "r.db", True, {}, "opbench run")
        finished = recording.measure(request, Listener())
        found = {(case.name, result.metric, result.outcome) for case, result in finished.results}
        assert found >= {(f"n{n}", m, "ok") for n in range(2) for m in ("time", "instructions")}
        assert {result.node for _, result in finished.results} == {"labelled"}
    finally:
        cluster.remove("labelled")


# -- wrong requests -------------------------------------------------------------------------------


def refused(command: Callable, tmp_path: Path, *words: str) -> str:
    done = command("run", "bench_fleet.py", "--store", "never.db", *words)
    assert done.returncode == 2, done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("opbench: ")]
    assert len(lines) == 1, done.stderr
    with Store.open(tmp_path / "never.db") as store:
        assert store.runs() == [], "nothing was begun"
    return lines[0]


def test_what_the_fleet_cannot_do_is_one_line_before_anything_is_measured(command, tmp_path):
    said = refused(command, tmp_path, "--on", "ray", "--require", "memory=900TiB")
    assert "no node meets memory=900TiB" in said
    said = refused(command, tmp_path, "--on", "ray", "--replicate-on", "9")
    assert "--replicate-on 9 needs as many nodes" in said
    said = refused(command, tmp_path, "--on", "ray://127.0.0.1:1")
    assert "no Ray cluster answers at ray://127.0.0.1:1" in said


def test_a_node_with_another_opbench_is_refused(command, cluster, tmp_path):
    other = tmp_path / "other" / "opbench"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text('__version__ = "0.0.1"\n')
    cluster.add("odd", env_vars={"PYTHONPATH": str(other.parent)})
    try:
        said = refused(command, tmp_path, "--on", "ray")
        assert "node odd has opbench 0.0.1 and this is" in said
    finally:
        cluster.remove("odd")
        time.sleep(0.5)
