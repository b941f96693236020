"""Runs that are interrupted, killed, continued, or not alone: nothing finished is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opbench.case import Case
from opbench.result import Result
from opbench.running.recording import Finished
from opbench.stats.prior import EARLIER_WEIGHT
from opbench.store import RunRecord, Store

CASES = 8
#: Cases from the number in the file LIMIT on wait: a run that is to be ended does not finish first.
BENCH = f"""
import time
from pathlib import Path
import opbench as ob

LIMIT = Path(__file__).with_name("limit")

@ob.bench(n={list(range(CASES))})
def case(n):
    while n >= int(LIMIT.read_text()):
        time.sleep(0.01)
    sum(range(2000))
"""
QUICK = ("--num-runs", "6", "--num-repeats", "50")


@pytest.fixture
def bench_file(tmp_path) -> Path:
    path = tmp_path / "bench_many.py"
    path.write_text(BENCH)
    (tmp_path / "limit").write_text(str(CASES))
    return path


def started(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "opbench.cli.main", "run", *map(str, arguments)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "160"},
        # A test suite started in the background inherits an ignored SIGINT; a person's shell
        # does not hand that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def stored(path: Path) -> dict[str, float]:
    """When each case was measured, of the latest run; nothing when there is none yet."""
    if not path.exists():
        return {}
    with Store.open(path, create=False) as store:
        runs = store.runs()
        if not runs:
            return {}
        results = store.results(run=runs[0], samples=True)
    measured = {found.case.id: found.result.created for found in results}
    assert len(measured) == len(results), "a case has two results"
    # Whole results only: all six runs of each.
    assert all(len(found.result.samples) == 6 for found in results)
    return measured


def next_result(run: subprocess.Popen[str]) -> str:
    """The next line that is a result: a pipe also gets a line before, and when workers start."""
    assert run.stderr is not None
    other = ("measuring ", "starting workers")
    return next((line for line in run.stderr if not line.startswith(other)), "")


def test_a_run_killed_again_and_again_is_completed_by_cont(
    bench_file, tmp_path, marked, eventually
):
    store = tmp_path / "results.db"
    pause = random.Random(20261115)
    before: dict[str, float] = {}
    # Killed after so many results and a moment: while it starts, sets up, measures, stores.
    for results in (0, 2):
        (tmp_path / "limit").write_text(str(len(before) + results + 1))
        what = ["--cont", "--yes"] if _has_run(store) else [bench_file, *QUICK]
        run = started(tmp_path, *what, "--store", store)
        assert run.stderr is not None
        for _ in range(results):
            assert "bench_many/case" in next_result(run)
        time.sleep(pause.uniform(0.0, 0.3 if results else 1.5))
        run.kill()
        run.communicate()
        assert eventually(lambda: marked() == []), "processes were left behind"
        now = stored(store)
        assert before.items() <= now.items(), "something finished was lost or measured again"
        assert len(now) >= len(before) + results
        before = now
    assert len(before) < CASES
    (tmp_path / "limit").write_text(str(CASES))
    last = started(tmp_path, "--cont", "--store", store, "--yes")
    _out, said = last.communicate(timeout=600)
    assert last.returncode == 0, said
    now = stored(store)
    assert before.items() <= now.items()
    assert len(now) == CASES
    # What it said while it went on is what was missing, and nothing else.
    assert said.count("/call  time  ") == CASES - len(before)
    with Store.open(store, create=False) as opened:
        assert [record.status for record in opened.runs()] == ["finished"]
    assert eventually(lambda: marked() == [])


def _has_run(path: Path) -> bool:
    if not path.exists():
        return False
    with Store.open(path, create=False) as store:
        return bool(store.runs())


def test_ctrl_c_ends_the_children_keeps_what_is_finished_and_says_how_to_continue(
    bench_file, tmp_path, marked, eventually
):
    asked = 5
    few = f"n={','.join(map(str, range(asked)))}"
    (tmp_path / "limit").write_text("2")
    run = started(tmp_path, bench_file, *QUICK, "-a", few, "--name", "mine")
    assert run.stderr is not None
    assert "bench_many/case[n=0]/call" in next_result(run)
    run.send_signal(signal.SIGINT)
    out, said = run.communicate(timeout=600)
    assert run.returncode == 130
    assert "opbench run --cont --name mine" in said
    assert "Traceback" not in said
    assert eventually(lambda: marked() == [])
    before = stored(tmp_path / ".opbench" / "results.db")
    assert 1 <= len(before) < asked
    assert "interrupted" in out
    (tmp_path / "limit").write_text(str(CASES))
    done = started(tmp_path, "--cont", "--name", "mine")
    done.communicate(timeout=600)
    assert done.returncode == 0
    now = stored(tmp_path / ".opbench" / "results.db")
    assert before.items() <= now.items()
    assert len(now) == asked


@pytest.mark.parametrize("setting", ["import", "setup", "call"])
def test_ctrl_c_while_the_users_code_hangs(tmp_path, marked, eventually, setting):
    path = tmp_path / "bench_hangs.py"
    flag = tmp_path / "hanging"
    hang = f"open({str(flag)!r}, 'w').close(); time.sleep(600)"
    path.write_text(
        "import time\nimport opbench as ob\n"
        + (f"{hang}\n" if setting == "import" else "")
        + "@ob.bench\ndef case():\n"
        + (f"    {hang}\n" if setting == "setup" else "")
        + "    def call():\n"
        + (f"        {hang}\n" if setting == "call" else "        pass\n")
        + "    yield call\n"
    )
    run = started(tmp_path, path, *QUICK)
    assert eventually(flag.exists)
    run.send_signal(signal.SIGINT)
    _out, said = run.communicate(timeout=600)
    assert run.returncode == 130
    assert "Traceback" not in said
    assert eventually(lambda: marked() == [])


def test_the_next_run_begins_with_what_this_one_saw_of_the_machine(
    opbench_here, bench_file, tmp_path
):
    for _ in range(2):
        assert opbench_here("run", bench_file, *QUICK).returncode == 0
    with Store.open(tmp_path / ".opbench" / "results.db", create=False) as store:
        first, second = (
            store.results(run=run, samples=True)[0].result for run in reversed(store.runs())
        )
    assert "layout" not in first.detail, "of a fresh store nothing is known"
    assert second.detail["layout"] > 0
    # Worth less than the cases of this run will be.
    assert 0 < second.detail["layout_freedom"] <= EARLIER_WEIGHT


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--num-runs", "7"), "was begun with --num-runs 6, and not with --num-runs 7"),
        (("-a", "n=1"), "was begun without -a, and not with -a n=1"),
        (("--metric", "time,memory"), "--metric time, and not with --metric time,memory"),
        (("--clock", "python"), "with --metric time, and not with --metric time_python"),
        (("bench_other.py",), "for bench_many.py, and not for bench_other.py"),
    ],
)
def test_cont_refuses_what_the_run_was_not_begun_with(
    opbench_here, bench_file, tmp_path, given, said
):
    other = tmp_path / "bench_other.py"
    other.write_text(BENCH)
    with Store.open(tmp_path / ".opbench" / "results.db") as store:
        asked = {"targets": ["bench_many.py"], "num_runs": 6, "num_repeats": 50}
        store.begin_run(RunRecord("r", created=1.0, request=asked))
    done = opbench_here("run", *given, "--cont")
    assert done.returncode == 2
    assert said in done.stderr
    assert "run r " in done.stderr
    assert "leave out --cont for a new one" in done.stderr


def test_cont_takes_the_same_command_again_and_what_changes_no_result(
    opbench_here, bench_file, tmp_path
):
    command = ("run", "bench_many.py", *QUICK, "-k", "n=1]")
    assert opbench_here(*command).returncode == 0
    again = opbench_here(*command, "--cont", "--budget", "60s", "--timeout", "30s")
    assert again.returncode == 0, again.stderr
    assert "is complete; nothing to measure" in again.stderr
    assert "1 ok" in again.stdout


def test_a_failing_case_is_not_measured_again_by_cont(opbench_here, tmp_path):
    path = tmp_path / "bench_fails.py"
    path.write_text(
        "import opbench as ob\n@ob.bench(n=[1, 2])\ndef case(n):\n    assert n == 1, 'no good'\n"
    )
    assert opbench_here("run", path, *QUICK).returncode == 1
    done = opbench_here("run", "--cont")
    assert done.returncode == 1
    assert "nothing to measure" in done.stderr
    assert "no good" in done.stdout


def test_cont_measures_what_an_edited_file_changed(opbench_here, bench_file, tmp_path):
    assert opbench_here("run", bench_file, *QUICK, "-k", "n=1]").returncode == 0
    bench_file.write_text(BENCH.replace("2000", "500"))
    done = opbench_here("run", "--cont")
    assert done.returncode == 0
    # The same name, other code: another case.
    assert done.stderr.count("bench_many/case[n=1]/call  time  ") == 1


def test_a_group_that_lacks_one_side_is_measured_as_a_whole_and_stored_once(tmp_path, opbench_here):
    path = tmp_path / "bench_pair.py"
    path.write_text(
        "import opbench as ob\n@ob.bench(mode=['a', 'b'])\ndef case(mode):\n    sum(range(500))\n"
    )
    quick = ("--precision", "20%", "--max-time-per-case", "300ms")
    assert opbench_here("run", path, *quick, "--baseline", "mode=a").returncode == 0
    where = tmp_path / ".opbench" / "results.db"
    with Store.open(where) as store:
        run = store.runs()[0]
        first = {found.case.axes["mode"]: found.result for found in store.results(run=run)}
        _forget(store, first["b"].case_hash)
    done = opbench_here("run", "--cont")
    assert done.returncode == 0, done.stderr
    assert "2 ok" in done.stdout
    with Store.open(where, create=False) as store:
        second = {found.case.axes["mode"]: found.result for found in store.results(samples=True)}
    assert set(second) == {"a", "b"}
    # Both sides stem from the same sitting, or their pairing would be made up.
    assert second["a"].created > first["a"].created
    assert second["a"].group == second["b"].group != ""
    orders = [{sample.order for sample in second[mode].samples} for mode in "ab"]
    assert not orders[0] & orders[1]


def _forget(store: Store, case_hash: str) -> None:
    """As if the run had been killed before this result."""
    from sqlalchemy import delete

    from opbench.store import tables

    with store._database.writing() as connection:
        connection.execute(delete(tables.results).where(tables.results.c.case_hash == case_hash))


def test_that_a_case_failed_is_said_before_what_a_gate_could_not_judge():
    case = Case("s", "a", "call", "f()")
    outcomes = [(case, Result(case.hash, "time", "s", each)) for each in ("ok", "unsupported")]
    lacking = Finished("run", outcomes)
    assert [lacking.exit_code_with(gate) for gate in (0, 1, 3)] == [0, 1, 3]
    failed = Finished("run", [*outcomes, (case, Result(case.hash, "memory", "bytes", "crashed"))])
    assert [failed.exit_code_with(gate) for gate in (0, 1, 3)] == [1, 1, 1]


@pytest.mark.slow
def test_two_runs_write_to_one_store_at_once(bench_file, tmp_path, marked, eventually):
    short = ("--num-runs", "1", "--num-repeats", "1")
    runs = [started(tmp_path, bench_file, *short, "--name", name) for name in ("a", "b")]
    for run in runs:
        _out, said = run.communicate(timeout=600)
        assert run.returncode == 0, said
    with Store.open(tmp_path / ".opbench" / "results.db", create=False) as store:
        for name in ("a", "b"):
            assert len(store.results(run=store.find_run(name))) == CASES
    assert eventually(lambda: marked() == [])


def test_a_run_without_a_store_keeps_its_results_to_itself(tmp_path, monkeypatch, bench_file):
    import opbench

    monkeypatch.chdir(tmp_path)
    began = time.time()
    run = opbench.run(bench_file, keep="n=1]", num_runs=3, num_repeats=2, save=False)
    assert [result.ok for _, result in run] == [True]
    assert run.results[0][1].created >= began
    assert run.store == ""
    assert not (tmp_path / ".opbench").exists()
