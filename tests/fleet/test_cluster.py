"""A real cluster of two Ray nodes and a real PostgreSQL: groups, nodes, deaths, second chances."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from perf.local_ray import LocalCluster, ray_cluster

from opbench.case import Case
from opbench.errors import UserError
from opbench.fleet.options import Fleet
from opbench.plan.groups import Baseline, groups
from opbench.plan.policy import Adaptive, Fixed
from opbench.plan.request import Request
from opbench.result import Result
from opbench.running.listener import FleetState, Listener
from opbench.running.recording import Finished, Recording
from opbench.store import Store

#: Quick, and what matters here is not how precise.
ONCE = Fixed(num_runs=2, num_repeats=2, starts=1, warmup_seconds=0.0, timeout=600)

QUICK = ("--num-runs", "1", "--num-repeats", "1")

BENCH = """
import opbench as ob
from fleet_helper import at_the_gate


@ob.bench(n=list(range(6)), mode=["plain", "other"])
def nap(n, mode):
    at_the_gate(n)
"""
#: Two groups pass, together and so on two nodes; the others wait until the gate is open.
HELPER = """
import time
from pathlib import Path

HERE = Path({here!r})


def at_the_gate(n):
    if len(passing()) < 2:
        (HERE / f"passing-{{n}}").touch()
    while not (HERE / "gate").exists():
        if len(passing()) > 1 and HERE / f"passing-{{n}}" in passing():
            break
        time.sleep(0.02)


def passing():
    return list(HERE.glob("passing-*"))
"""


@pytest.fixture
def project(tmp_path: Path) -> None:
    (tmp_path / "bench_fleet.py").write_text(BENCH)
    (tmp_path / "fleet_helper.py").write_text(HELPER.format(here=str(tmp_path)))


@pytest.fixture
def command(
    project: None, cluster: LocalCluster, tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess]:
    """`opbench` in a process of its own, on this cluster."""

    def call(*words: object, **more: object) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "opbench.cli.main", *map(str, words)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=600,
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
    """Of this cluster: its nodes are our children. Another suite may run on this machine."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            words = process.cmdline()
        except psutil.Error:
            continue
        if words and words[0].startswith("ray::Agent"):
            found.append(process.pid)
    return found


# -- the command line, end to end -----------------------------------------------------------------


@pytest.mark.slow
def test_a_run_into_postgresql_whose_driver_is_killed_is_completed_by_cont(
    project, opbench_here, connected, cluster, server, url, tmp_path, eventually
):
    """Killed while most of its groups of two wait; then everything is asked of them."""
    words = ["run", "bench_fleet.py", "--on", "ray", "--store", url, "--name", "nightly"]
    words += ["--baseline", "mode=plain", *QUICK]
    driver = subprocess.Popen(
        [sys.executable, "-m", "opbench.cli.main", *words],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "RAY_ADDRESS": cluster.address},
    )
    with Store.open(url) as store:
        assert eventually(lambda: len(store.results()) >= 2 or driver.poll() is not None, 600)
        driver.send_signal(signal.SIGKILL)
        driver.wait(600)
        before = {s.case.id: s.result.created for s in store.results()}
        assert len(before) % 2 == 0, "a group is stored as a whole"
        assert store.find_run("nightly").status == "running"
    assert 2 <= len(before) < 12
    (tmp_path / "gate").touch()
    assert eventually(lambda: not agents(), 600), "agents end with their driver"
    done = opbench_here("run", "--cont", "--name", "nightly", "--store", url, "--yes")
    assert done.returncode == 0, done.stderr
    assert server.password not in done.stdout + done.stderr
    with Store.open(url, create=False) as store:
        run = store.find_run("nightly")
        stored = store.results(run=run, samples=True)
    assert run.status == "finished"
    assert server.password not in str(run)
    assert set(run.machine["fleet"]) >= {"one", "two"}
    assert len(stored) == len({s.case.id for s in stored}) == 12
    assert all(s.result.ok and s.result.samples for s in stored)
    assert {s.result.node for s in stored} == {"one", "two"}
    for s in stored:
        if s.case.id in before:
            assert s.result.created == before[s.case.id], "what was finished is not measured again"
    for number in range(6):
        sides = [s.result for s in stored if s.case.axes["n"] == number]
        assert len({side.node for side in sides}) == 1, "a comparison never leaves its node"
        assert len({side.group for side in sides}) == 1
    compared = opbench_here("compare", "nightly", "--col", "mode", "--store", url)
    assert compared.returncode == 0, compared.stderr
    assert re.search(r"^ n=5 ", compared.stdout, re.MULTILINE), compared.stdout


@pytest.mark.slow
def test_a_run_through_ray_s_own_client(command, tmp_path):
    (tmp_path / "gate").touch()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with ray_cluster("alone", client_port=port):
        words = ("run", "bench_fleet.py", "-k", "n=1,", "--store", "r.db", *QUICK)
        done = command(*words, "--on", f"ray://127.0.0.1:{port}")
    assert done.returncode == 0, done.stderr
    with Store.open(tmp_path / "r.db", create=False) as store:
        assert {s.result.outcome for s in store.results()} == {"ok"}


# -- deaths ---------------------------------------------------------------------------------------


class KillAgents(Listener):
    """Kills every agent there is, at each of the given numbers of finished groups, and each time
    only when the death before was noticed."""

    def __init__(self, at: Sequence[int]) -> None:
        self.at = list(at)
        self.lost = self._before = 0

    def fleet(self, state: FleetState) -> None:
        self.lost = state.lost
        if not self.at or state.done < self.at[0] or not state.running:
            return
        if self._before == 0 or state.lost > self._before - 1:
            self.at.pop(0)
            self._before = state.lost + 1
            for pid in agents():
                os.kill(pid, signal.SIGKILL)


class LoseNode(KillAgents):
    """The same, and then a whole node, when every node is measuring; then opens the gate."""

    def __init__(
        self, cluster: LocalCluster, name: str, gate: Path, agents_at: Sequence[int]
    ) -> None:
        super().__init__(agents_at)
        self.cluster, self.name, self.gate = cluster, name, gate
        self.nodes = 0

    def fleet(self, state: FleetState) -> None:
        super().fleet(state)
        self.nodes = max(self.nodes, state.nodes)
        noticed = not self.at and state.lost > 0
        if self.name in self.cluster.nodes and noticed and state.running == 3:
            self.cluster.remove(self.name)
            self.gate.touch()


@pytest.mark.slow
def test_agents_and_a_node_that_die_cost_nothing_but_time(connected, cluster, tmp_path):
    cluster.add("doomed")
    # The first groups are quick. The others wait for the deaths, so that each one costs a group.
    gate = tmp_path / "gate"
    wait = f"while not os.path.exists({str(gate)!r}): time.sleep(0.05)"
    made = [
        replace(
            case, stmt=wait if int(case.name[1:]) >= 3 else case.stmt, globals="import os, time"
        )
        for case in cases(8, 0.1, ("plain", "other"))
    ]
    loser = LoseNode(cluster, "doomed", gate, [3])
    finished, stored = measure(made, tmp_path / "r.db", Fleet("ray"), loser, "mode=plain")
    assert "doomed" not in cluster.nodes
    assert loser.nodes == 3
    assert loser.at == []
    assert loser.lost >= 2
    assert finished.status == "finished"
    assert Counter(case.id for case, _ in stored) == Counter(case.id for case in made)
    assert all(result.ok for _, result in stored)


@pytest.mark.slow
def test_a_group_whose_agents_keep_dying_is_given_up_with_the_reason_and_cont_tries_again(
    connected, tmp_path
):
    made = cases(1, 0.5)
    store = tmp_path / "r.db"
    fleet = replace(Fleet("ray"), retries=0, require={"place": "one"})
    finished, stored = measure(made, store, fleet, KillAgents([0]))
    ((_, result),) = stored
    assert finished.status == "finished"
    assert finished.failures
    assert result.outcome == "failed"
    assert result.reason.startswith("gave up after 1 attempt: on node ")
    assert result.node == ""
    recording = Recording.resumed(store, "")
    request = Request(tuple(groups(made)), ONCE, seed=0, fleet=fleet)
    assert not recording.measure(request, Listener()).failures
    with Store.open(store, create=False) as opened:
        (again,) = opened.results()
    assert again.result.ok
    assert again.result.node == "one"


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
    from opbench.report.terminal.run import as_text
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


@pytest.mark.slow
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


class MostAtOnce(Listener):
    def __init__(self) -> None:
        self.running = 0

    def fleet(self, state: FleetState) -> None:
        self.running = max(self.running, state.running)


@pytest.mark.slow
def test_a_node_measures_as_many_groups_at_a_time_as_it_has_slots(connected, cluster, tmp_path):
    cluster.add("wide", cpus=2, labels={"width": "two"})
    try:
        for slots in (1, 2):
            seen = MostAtOnce()
            fleet = Fleet.of("ray", slots=f"cpu={slots}", require=["width=two"])
            _, stored = measure(cases(6, 0.2), tmp_path / f"{slots}.db", fleet, seen)
            assert seen.running == slots
            assert len(stored) == 6
            assert {(result.outcome, result.node) for _, result in stored} == {("ok", "wide")}
    finally:
        cluster.remove("wide")


@pytest.mark.slow
def test_cases_of_a_gpu_go_to_the_node_that_has_one_and_see_only_that(connected, cluster, tmp_path):
    """Ray believes what a node says of its GPUs, so none is needed to see who is sent where."""
    cluster.add("with-gpu", num_gpus=2)
    try:
        look = "assert os.environ['CUDA_VISIBLE_DEVICES'] in ('0', '1'), os.environ"
        on_gpu = [
            Case("fleet", f"g{n}", "call", f"{look}\ntime.sleep(0.2)", globals="import os, time",
                 device="cuda")
            for n in range(6)
        ]  # fmt: skip
        seen = MostAtOnce()
        _, stored = measure(on_gpu, tmp_path / "r.db", Fleet("ray"), seen)
    finally:
        cluster.remove("with-gpu")
    assert [result.reason for _, result in stored] == [""] * 6
    assert {result.node for _, result in stored} == {"with-gpu"}
    assert seen.running == 2, "one group per GPU"


@pytest.mark.slow
def test_a_budget_is_for_the_whole_fleet(connected, tmp_path):
    made = cases(4, 0.01)
    request = Request(
        tuple(groups(made)), Adaptive(precision=1e-6, max_time=600), budget=2.0, fleet=Fleet("ray")
    )
    recording = Recording.begun(tmp_path / "r.db", True, {}, "opbench run")
    began = time.monotonic()
    finished = recording.measure(request, Listener())
    assert {result.outcome for _, result in finished.results} == {"ok"}
    assert len(finished.results) == 4
    assert time.monotonic() - began < 300, "one case alone would have taken ten minutes"


# -- wrong requests -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fleet", "said"),
    [
        (replace(Fleet("ray"), require={"memory": "900TiB"}), "no node meets memory=900TiB: "),
        (
            replace(Fleet("ray"), replicas=9),
            "--replicate-on 9 needs as many nodes; 2 of the fleet are suitable",
        ),
    ],
)
def test_what_the_fleet_cannot_do_is_said_before_anything_is_begun(
    connected, tmp_path, fleet, said
):
    store = tmp_path / "r.db"
    with pytest.raises(UserError) as caught:
        measure(cases(1), store, fleet)
    assert said in str(caught.value)
    with Store.open(store, create=False) as opened:
        assert opened.runs() == []


def test_an_address_where_nobody_answers_is_one_line(opbench_here, tmp_path, ray):
    (tmp_path / "bench_fleet.py").write_text(
        "import opbench as ob\n\n\n@ob.bench\ndef f():\n    pass\n"
    )
    for on, said in (
        ("ray://127.0.0.1:1", "no Ray cluster answers at ray://127.0.0.1:1 (Connection refused)"),
        ("spark", "--on takes ray, or ray://HOST:PORT"),
    ):
        done = opbench_here("run", "bench_fleet.py", "--on", on)
        assert done.returncode == 2
        assert done.stderr.startswith("opbench: ")
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    done = opbench_here("run", "bench_fleet.py", "--slots", "cpu=2")
    assert done.returncode == 2
    assert "--slots is for a cluster; name one with --on" in done.stderr


@pytest.mark.slow
def test_a_node_with_another_opbench_is_refused(command, cluster, tmp_path):
    other = tmp_path / "other" / "opbench"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text('__version__ = "0.0.1"\n')
    cluster.add("odd", env_vars={"PYTHONPATH": str(other.parent)})
    try:
        done = command("run", "bench_fleet.py", "--on", "ray", "--store", "never.db")
        assert done.returncode == 2, done.stderr
        assert "opbench: node odd has opbench 0.0.1 and this is" in done.stderr
        with Store.open(tmp_path / "never.db") as store:
            assert store.runs() == []
    finally:
        cluster.remove("odd")
