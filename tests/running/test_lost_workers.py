"""Workers that end, stop or never start: they cost the case that ran in them, not the run."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress

import pytest

from opbench.case import Case
from opbench.plan.groups import groups
from opbench.plan.policy import Adaptive, Fixed
from opbench.plan.request import Request
from opbench.result import Result
from opbench.running.listener import Listener
from opbench.running.runner import Runner
from opbench.workers.process import Worker, WorkerError

POLICY = Adaptive(precision=0.5, max_time=1.0, warmup_seconds=0.02, max_starts=3)


def case(name: str, stmt: str = "sum(range(100))", **more) -> Case:
    return Case("s", name, "call", stmt, **more)


@pytest.fixture
def outcomes(marked, eventually):
    def call(cases, policy=POLICY, listener=None, **more) -> dict[str, Result]:
        request = Request(tuple(groups(cases, None)), policy, **more)
        runner = Runner(request, lambda *_: None, listener or Listener())
        runner.run()
        assert eventually(lambda: marked() == []), "processes were left behind"
        return {found.name: result for found, result in runner.results}

    return call


def once(file, number: signal.Signals) -> str:
    """Set-up that sends its worker a signal, the first time only."""
    return (
        "import os, time\n"
        f"if not os.path.exists({str(file)!r}):\n"
        f"    open({str(file)!r}, 'w').close()\n"
        f"    os.kill(os.getppid(), {int(number)})\n"
        "    time.sleep(0.2)"
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
@pytest.mark.parametrize("policy", [POLICY, Fixed(num_runs=2)], ids=["adaptive", "fixed"])
def test_a_worker_that_is_lost_once_costs_nobody_a_result(outcomes, tmp_path, number, policy):
    cases = [case("a"), case("b", setup=once(tmp_path / "done", number)), case("c")]
    began = time.monotonic()
    found = outcomes(cases, policy)
    assert {name: result.outcome for name, result in found.items()} == dict.fromkeys("abc", "ok")
    assert (tmp_path / "done").exists()
    if number == signal.SIGSTOP:
        assert time.monotonic() - began < 55, "a minute is waited for an answer that never comes"


def test_workers_that_a_case_stopped_are_replaced_before_the_next_one(outcomes, monkeypatch):
    from opbench.sampling import drift

    monkeypatch.setattr(drift, "APART", 0.0)  # the cases kept to see the drift are looked at
    stops = case("stops", stmt="os.kill(os.getppid(), 19)", setup="import os")
    found = outcomes([case("a"), stops, case("b"), case("c")])
    assert all(found[name].ok for name in "abc"), found


def test_code_that_ends_every_worker_fails_alone(outcomes):
    deadly = "import os\nos.kill(os.getppid(), 9)\nimport time\ntime.sleep(5)"
    found = outcomes([case("a"), case("deadly", setup=deadly), case("c")])
    assert found["deadly"].outcome == "failed"
    assert "the worker" in found["deadly"].reason
    assert found["a"].ok
    assert found["c"].ok


class KillsWhenMeasured(Listener):
    """Somebody outside ends all workers once, when the case of this name is about to begin."""

    def __init__(self, name: str, marked) -> None:
        self.name, self.marked, self.killed = name, marked, 0

    def measuring(self, cases) -> None:
        if not self.killed and cases[0].name == self.name:
            pids = self.marked()
            for pid in pids:
                with suppress(ProcessLookupError):  # a child that went with its worker
                    os.kill(pid, signal.SIGKILL)
            self.killed = len(pids)


def test_the_cases_kept_to_see_the_drift_may_die_with_their_worker(outcomes, marked, monkeypatch):
    from opbench.sampling import drift

    monkeypatch.setattr(drift, "APART", 0.0)
    listener = KillsWhenMeasured("c", marked)
    found = outcomes([case(name) for name in "abcde"], listener=listener)
    assert listener.killed
    assert {name: result.outcome for name, result in found.items()} == dict.fromkeys("abcde", "ok")


def test_a_worker_that_ends_before_it_is_asked_says_so(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no such machine >&2\nexit 3\n")
    python.chmod(0o755)
    worker = Worker(str(python), ())
    with pytest.raises(WorkerError, match=r"did not start: no such machine \(exit status 3\)"):
        worker.wait_ready()


class KillsWhenStarting(Listener):
    """Somebody outside ends the first worker as soon as it has a process."""

    def __init__(self, marked) -> None:
        self.marked, self.killed = marked, 0

    def starting_workers(self, what: str) -> None:
        if not self.killed:
            threading.Thread(target=self.kill).start()

    def kill(self) -> None:
        deadline = time.monotonic() + 10
        while not self.killed and time.monotonic() < deadline:
            for pid in self.marked():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.killed += 1


def test_a_worker_that_is_killed_while_it_starts_is_started_again(outcomes, marked):
    listener = KillsWhenStarting(marked)
    found = outcomes([case("a"), case("b")], listener=listener)
    assert listener.killed
    assert {name: result.outcome for name, result in found.items()} == {"a": "ok", "b": "ok"}
