"""What a continued run measures again, and which run is the last one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opbench.result import Result
from opbench.running.recording import ended_from_outside
from opbench.store import RunRecord, Store

BENCH = """
import opbench as ob

@ob.bench(n=[1, 2, 3])
def case(n):
    sum(range(n))
"""
QUICK = ("--num-runs", "2", "--num-repeats", "2")


@pytest.fixture
def store(tmp_path, opbench_here):
    """A finished run of three cases."""
    (tmp_path / "bench.py").write_text(BENCH)
    assert opbench_here("run", "bench.py", *QUICK).returncode == 0
    return tmp_path / ".opbench" / "results.db"


def outcomes(path) -> dict[str, str]:
    with Store.open(path, create=False) as store:
        found = store.results(run=store.find_run("last"))
    return {each.case.id: each.result.outcome for each in found}


def spoil(path, outcome: str, reason: str) -> str:
    """Let the first result of the run be one that could not be measured; its case."""
    with Store.open(path) as store:
        run = store.find_run("last")
        found = store.results(run=run)[0]
        ended = replace(found.result, outcome=outcome, reason=reason, estimate=None, samples=())
        assert store.add_result(run.id, found.case, ended, replace=True)
        return found.case.id


@pytest.mark.parametrize(
    ("outcome", "reason", "again"),
    [
        ("crashed", "SIGKILL", True),
        ("failed", "the worker ended or hangs: it printed nothing (exit status -9)", True),
        ("crashed", "SIGSEGV", False),
        ("failed", "ValueError: the worker", False),
    ],
)
def test_what_somebody_killed_is_measured_again(store, opbench_here, outcome, reason, again):
    spoilt = spoil(store, outcome, reason)
    with Store.open(store) as opened:
        opened.finish_run(opened.find_run("last").id, "interrupted")
    opbench_here("run", "--cont")
    found = outcomes(store)
    assert len(found) == 3
    assert found[spoilt] == ("ok" if again else outcome)


def test_an_ordinary_failure_is_the_code_s_own():
    failed = Result("h", "time", "s", outcome="failed", reason="KeyError: 'the worker'")
    assert not ended_from_outside(failed)
    assert not ended_from_outside(Result("h", "time", "s"))


def test_the_last_run_is_the_one_that_began_last(store, opbench_here):
    """Although the clock has been set back by ten years in between."""
    later = 2_100_000_000.0
    with Store.open(store) as opened:
        opened.begin_run(RunRecord("future", "future", created=later, status="finished"))
    assert opbench_here("run", "bench.py", *QUICK, "--name", "new").returncode == 0
    with Store.open(store, create=False) as opened:
        assert opened.find_run("last").name == "new"
        assert opened.find_run("last~1").name == "future"


@pytest.mark.parametrize("name", ["class.py", 'bench"q.py', "bench'q.py", "bench-x.py", "µ.py"])
def test_files_with_odd_names(tmp_path, opbench_here, name):
    (tmp_path / name).write_text(BENCH)
    done = opbench_here("run", name, "-a", "n=1", *QUICK)
    assert done.returncode == 0, done.stderr
    assert list(outcomes(tmp_path / ".opbench" / "results.db").values()) == ["ok"]


TEARS_DOWN = """
import opbench as ob

@ob.bench(n=[1, 2])
def case(n):
    log = open({log!r}, "a")
    print("set up", n, file=log, flush=True)
    yield lambda: sum(range(n))
    print("torn down", n, file=log, flush=True)
    {after}
"""


@pytest.mark.parametrize("after", ["", "raise ValueError", "import os; os._exit(3)"])
def test_what_stands_after_the_yield_runs_at_the_end(tmp_path, opbench_here, after):
    log = tmp_path / "log"
    (tmp_path / "bench.py").write_text(TEARS_DOWN.format(log=str(log), after=after))
    done = opbench_here("run", "bench.py", *QUICK)
    assert done.returncode == 0, done.stderr
    said = log.read_text().splitlines()
    for n in (1, 2):
        assert said.count(f"set up {n}") == said.count(f"torn down {n}") > 0
    # Before the next case is set up: nobody tears down while another is measured.
    assert said.index("torn down 1") < said.index("set up 2")


def test_a_tear_down_that_hangs_is_not_waited_for(
    tmp_path, opbench_here, monkeypatch, marked, eventually
):
    monkeypatch.setattr("opbench.workers.session.TEAR_DOWN_SECONDS", 0.2)
    hang = TEARS_DOWN.format(log=str(tmp_path / "log"), after="import time; time.sleep(600)")
    (tmp_path / "bench.py").write_text(hang)
    assert opbench_here("run", "bench.py", *QUICK).returncode == 0
    assert eventually(lambda: marked() == [])
