"""The pytest plugin, in a pytest of its own: without this session's plugins and fixtures."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opbench.define.bench import BenchError
from opbench.define.call import describe
from opbench.plan.options import OPTIONS
from opbench.store import Store
from opbench.testing.measuring import branch_of, given, spelled_for_pytest

QUICK = ("--opbench-option", "num_runs=3", "--opbench-option", "num_repeats=4")

TESTS = """\
import time
import pytest
import opbench as ob
from mine.naps import nap, total

def test_total(opbench):
    assert opbench(total, [1, 2], start=3) == 6

@pytest.mark.parametrize("ms", [2, 4])
def test_nap(opbench, ms):
    opbench(nap, ms)

def test_closure(opbench):
    values = list(range(5))
    assert opbench(lambda: total(values)) == 10

@ob.bench(n=[3, 5])
def made(n):
    return list(range(n))

def test_plain():
    pass
"""
NAPS = """\
import time
def nap(ms): time.sleep(ms * {factor} / 100)
def total(values, start=0): return sum(values, start)
"""
IDS = [
    "test_speed/test_total/call",
    "test_speed/test_nap[ms=2]/call",
    "test_speed/test_nap[ms=4]/call",
    "test_speed/test_closure/call",
    "test_speed/made[n=3]/call",
    "test_speed/made[n=5]/call",
]


@pytest.fixture
def project(tmp_path):
    (tmp_path / "src" / "mine").mkdir(parents=True)
    (tmp_path / "src" / "mine" / "__init__.py").write_text("")
    (tmp_path / "src" / "mine" / "naps.py").write_text(NAPS.format(factor=1))
    (tmp_path / "test_speed.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = src\n")
    return tmp_path


def run(
    folder: Path, *arguments: str, plugins: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    loaded = [part for name in ("opbench.testing.plugin", *plugins) for part in ("-p", name)]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "120"}
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        env.pop(name, None)
    return subprocess.run(
        [sys.executable, "-m", "pytest", *loaded, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        env=env,
    )


def stored(folder: Path) -> list[list[str]]:
    """Ids of the cases of each run, the oldest run first."""
    with Store.open(folder / ".opbench" / "results.db", create=False) as store:
        return [[s.case.id for s in store.results(run=run)] for run in reversed(store.runs())]


def test_a_wrapped_function_is_refused_and_not_taken_for_the_one_inside():
    with pytest.raises(BenchError, match=r"^run: a fresh process would import `run` of .*"):
        describe("wrapped", {}, functools.lru_cache(run), (), {})


def test_benchmarks_are_measured_after_the_tests_and_gate_on_a_baseline_that_stays(project):
    first = run(project, *QUICK)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "6 passed" in first.stdout
    assert "Measured alone, after the tests ended." in first.stdout
    assert "Stored as the baseline of this folder (no branch is checked out);" in first.stdout
    assert "\nopbench: measuring 6 cases, alone\n" in first.stdout
    assert stored(project) == [IDS]

    (project / "src" / "mine" / "naps.py").write_text(NAPS.format(factor=10))
    gate = ("-k", "nap", "--opbench-fail-on", "slower:50%")
    for _ in range(2):  # what was found slower is not the next baseline
        slow = run(project, "-q", *QUICK, *gate)
        assert slow.returncode == 1, slow.stdout + slow.stderr
        assert "2 passed" in slow.stdout
        assert "\nopbench: measuring 2 cases, alone\n" in slow.stdout
        assert re.search(r"baseline +now ", slow.stdout)
        assert re.search(r"ms=[24] .*▲ slower", slow.stdout)  # beside other tests, at least one
        assert re.search(r"gate: [12] cases? failed", slow.stdout)
    assert stored(project)[1:] == [IDS[1:3]] * 2


WORKS = "def square(x): return x * x\n"
BREAKS = {
    "test": "def square(x): raise ValueError(x)\n",
    "assertion": "def square(x): return 0\n",
    "worker": "import sys\ndef square(x): return {True: 9}['pytest' in sys.modules]\n",
}


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> Path:
    """A project whose only test has a good baseline; made once, and copied by each test."""
    folder = tmp_path_factory.mktemp("good")
    (folder / "test_square.py").write_text(
        "from squares import square\ndef test_square(opbench): assert opbench(square, 3) == 9\n"
    )
    (folder / "squares.py").write_text(WORKS)
    assert run(folder, *QUICK).returncode == 0
    return folder


@pytest.mark.parametrize("breaks", BREAKS)
def test_what_fails_does_not_replace_a_good_baseline(good, tmp_path, breaks):
    shutil.copytree(good, tmp_path, dirs_exist_ok=True)
    module = tmp_path / "squares.py"
    module.write_text(BREAKS[breaks])
    broken = run(tmp_path, *QUICK)
    assert broken.returncode == 1, broken.stdout + broken.stderr
    assert "Stored as the baseline" not in broken.stdout
    assert ("A case that failed keeps the baseline it had." in broken.stdout) == (
        breaks == "worker"
    )

    module.write_text(WORKS)
    again = run(tmp_path, *QUICK, "--opbench-fail-on", "slower:1000%")
    assert again.returncode == 0, again.stdout + again.stderr
    assert re.search(r"test_square/test_square/call .* \[", again.stdout)
    assert "failed" not in again.stdout


@pytest.mark.slow
def test_under_xdist_one_process_measures_what_all_workers_named(project):
    pytest.importorskip("xdist")
    done = run(
        project, *QUICK, "-n", "2", "-k", "total or closure or made", plugins=("xdist.plugin",)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "after the tests and the workers of pytest-xdist ended" in done.stdout
    assert [sorted(ids) for ids in stored(project)] == [sorted([IDS[0], *IDS[3:]])]


def test_beside_pytest_benchmark_and_disabled(project):
    pytest.importorskip("pytest_benchmark")
    (project / "test_other.py").write_text("def test_other(benchmark): benchmark(sum, [1])\n")
    done = run(
        project, "--opbench-disable", "--benchmark-disable", plugins=("pytest_benchmark.plugin",)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 passed, 1 skipped" in done.stdout
    assert not (project / ".opbench").exists()


MISTAKES = {
    "gate": (
        ["--opbench-fail-on", "slowr"],
        "--opbench-fail-on: unknown verdict 'slowr'; did you mean slower",
    ),
    "option": (["--opbench-option", "precison=1%"], "did you mean precision"),
    "no value": (["--opbench-option", "precision"], "is written NAME=VALUE, not 'precision'"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_before_any_test_runs(project, mistake):
    arguments, said = MISTAKES[mistake]
    done = run(project, "-k", "total", *arguments)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    assert re.search(f"^ERROR: opbench: .*{re.escape(said)}", done.stderr, re.MULTILINE)
    assert "passed" not in done.stdout


def test_a_baseline_that_nobody_has_is_named_before_any_test_runs(project):
    Store.open(project / ".opbench" / "results.db").close()
    done = run(project, "-k", "total", "--opbench-compare", "nosuch")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    assert "ERROR: opbench: branch nosuch has no baseline on this machine, and no" in done.stderr
    assert "passed" not in done.stdout


def test_a_gate_without_a_baseline_fails_and_says_how_to_store_one(project):
    done = run(project, *QUICK, "-k", "total", "--opbench-fail-on", "slower:5%")
    assert done.returncode == 1
    said = "this folder (no branch is checked out) has no baseline on this machine; to store"
    assert said in done.stdout
    assert "gate: failed, as there is nothing to compare with" in done.stdout


WRONG_CALLS = {
    "opbench(len, open(__file__))": "an argument of len cannot be made again in a fresh process",
    "opbench(Callable(), 3)": "Callable has no name to import it by; wrap it in a function",
    "opbench(abs(3))": "an object of type int cannot be called; pass the function, then its arg",
}


@pytest.mark.parametrize("call", WRONG_CALLS)
def test_what_a_fresh_process_cannot_make_fails_the_test_that_names_it(tmp_path, call):
    (tmp_path / "test_wrong.py").write_text(
        "class Callable:\n    def __call__(self, x): return x\n"
        f"def test_wrong(opbench):\n    {call}\n"
    )
    done = run(tmp_path)
    assert done.returncode == 1
    assert re.search(f"^E +Failed: opbench: {re.escape(WRONG_CALLS[call])}", done.stdout, re.M)
    # The line of the test, and none of ours.
    assert re.findall(r"^\S+\.py:\d+: ", done.stdout, re.M) == ["test_wrong.py:4: "]


def test_a_project_without_benchmarks_imports_nothing_of_ours(tmp_path):
    (tmp_path / "test_plain.py").write_text(
        "import sys\ndef test_plain():\n"
        "    ours = sorted(m for m in sys.modules if m.startswith('opbench'))\n"
        "    assert ours == ['opbench', 'opbench.testing', 'opbench.testing.plugin']\n"
        "    assert 'torch' not in sys.modules\n"
    )
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "opbench" not in done.stdout


def test_the_installed_package_names_the_plugin():
    tomllib = pytest.importorskip("tomllib")
    root = Path(__file__).parent.parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"opbench": "opbench.testing.plugin"}


def test_the_branch_is_the_one_checked_out(tmp_path, monkeypatch):
    for name in ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BRANCH_NAME"):
        monkeypatch.delenv(name, raising=False)
    assert branch_of(tmp_path) == "HEAD"
    subprocess.run(["git", "init", "-q", "-b", "speed/up", str(tmp_path)], check=True)
    assert branch_of(tmp_path) == "speed/up"
    monkeypatch.setenv("GITHUB_REF_NAME", "elsewhere")
    assert branch_of(tmp_path) == "speed/up"


def test_advice_names_options_as_pytest_takes_them():
    said = spelled_for_pytest("raise --max-time-per-case, or --max-starts 24; --opbench-compare")
    assert said == (
        "raise --opbench-option max_time_per_case=…, or --opbench-option max_starts=24; "
        "--opbench-compare"
    )
    assert {"max_time_per_case", "max_starts", "num_runs", "precision"} <= set(OPTIONS)
    assert given(["max_starts=24"]) == {"max_starts": 24}
