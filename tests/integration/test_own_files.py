"""Users' own files, packages and scripts, from the command line and from Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import opbench
from opbench.errors import UserError
from opbench.store import Store

SCRIPT = """
import opbench as ob

print("imported as", __name__)


@ob.bench(n=[10, 100])
def total(n):
    sum(range(n))


run = ob.run(num_runs=1, num_repeats=2, store="mine.db")
print(run)
again = ob.run(num_runs=1, num_repeats=2, store="mine.db", keep="n=10]")
print("cases", len(run), len(again))
"""


def stored(path: Path) -> list[str]:
    with Store.open(path, create=False) as store:
        return [found.case.id for found in store.results()]


@pytest.fixture
def python(tmp_path):
    def call(*arguments: object) -> str:
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=600,
            env={**os.environ, "COLUMNS": "120"},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_a_file_that_calls_run_at_its_top_level_runs_as_a_script(python, tmp_path):
    (tmp_path / "bench_mine.py").write_text(SCRIPT)
    said = python("bench_mine.py")
    assert "imported as __main__" in said
    assert "bench_mine/total[…]/call" in said
    assert "\n n=100 " in said
    assert "2 ok; results in mine.db" in said
    # Its own copies, imported where they are measured, run nothing and print elsewhere.
    assert "imported as bench_mine" not in said
    assert said.endswith("cases 2 1\n")
    assert len(stored(tmp_path / "mine.db")) == 3


def test_the_same_file_runs_from_the_command_line(opbench, tmp_path):
    (tmp_path / "bench_mine.py").write_text(SCRIPT)
    done = opbench("run", "bench_mine.py", "--num-runs", "1", "--num-repeats", "2")
    assert done.returncode == 0, done.stderr
    assert "imported as" not in done.stdout
    # The `ob.run()` inside it did nothing.
    assert not (tmp_path / "mine.db").exists()
    assert len(stored(tmp_path / ".opbench" / "results.db")) == 2


def test_a_package_with_relative_imports(opbench_here, python, tmp_path):
    package = tmp_path / "project" / "kernels"
    (package / "bench").mkdir(parents=True)
    (package / "__init__.py").write_text("SCALE = 3\n")
    (package / "bench" / "__init__.py").write_text("")
    (package / "work.py").write_text("def work(n):\n    return sum(range(n))\n")
    (package / "bench" / "bench_work.py").write_text(
        "import opbench as ob\nfrom .. import SCALE\nfrom ..work import work\n\n\n"
        "def inputs(n):\n    return {'n': n * SCALE}\n\n\n"
        "@ob.bench(inputs=inputs, n=[5])\ndef scaled(n):\n    assert n == 15\n    work(n)\n"
    )
    file = package / "bench" / "bench_work.py"
    done = opbench_here("run", file, "--num-runs", "1", "--num-repeats", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert stored(tmp_path / ".opbench" / "results.db") == ["bench_work/scaled[n=5]/call"]
    # The standalone script finds the package where it is.
    script = tmp_path / "alone.py"
    script.write_text(opbench_here("show", "scaled", "--script").stdout)
    assert "median_seconds" in python("-I", script)
    # A helper is part of what is measured: an edit makes another case.
    first = opbench_here("list", file, "--hash").stdout
    (package / "work.py").write_text("def work(n):\n    return n\n")
    assert opbench_here("list", file, "--hash").stdout != first


def test_a_file_whose_import_prints_and_starts_processes(opbench, tmp_path, marked, eventually):
    (tmp_path / "bench_loud.py").write_text(
        "import subprocess, sys\nprint('{}' * 100)\nsys.stderr.write('loud')\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "import opbench as ob\n@ob.bench\ndef quiet():\n    pass\n"
    )
    done = opbench("run", "bench_loud.py", "--num-runs", "1", "--num-repeats", "2")
    assert done.returncode == 0, done.stderr
    assert "loud" not in done.stderr.replace("bench_loud", "")
    assert eventually(lambda: marked() == [])


def test_run_and_load_from_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "bench_mine.py"
    file.write_text(SCRIPT)
    run = opbench.run(file, axes={"n": [20]}, num_runs=1, num_repeats=2, name="mine")
    assert [case.id for case, _ in run] == ["bench_mine/total[n=20]/call"]
    assert run.failures == []
    assert "1 ok" in repr(run)
    frame = opbench.load()
    assert list(frame["case_id"]) == ["bench_mine/total[n=20]/call"]
    assert frame["estimate"][0] == run.results[0][1].estimate
    assert opbench.run(cont=True).results[0][1] == run.results[0][1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"precison": 0.1}, "unknown option 'precison'; did you mean precision"),
        ({"precision": "lots"}, "precision: expected a percentage"),
        ({"budget": "soon"}, "budget: expected a time"),
        ({"metrics": "tiem"}, "unknown metric 'tiem'; did you mean time"),
        ({"cont": True, "save": False}, "there is no store"),
    ],
)
def test_mistakes_in_python_are_one_line_too(tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        opbench.run("tour", **options)
    assert said in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_quantities_may_be_written_as_on_the_command_line():
    from opbench.plan.options import RunOptions

    settled = RunOptions.of({"precision": "1%", "budget": "2min", "max_time_per_case": 3})
    assert (settled.precision, settled.budget, settled.max_time_per_case) == (0.01, 120.0, 3.0)
    assert RunOptions.of(settled.to_dict()) == settled


def test_torch_in_a_function_has_as_many_threads_as_asked_for(opbench_here, tmp_path):
    """A file that names it nowhere else is taken for plain Python."""
    (tmp_path / "bench_late.py").write_text(
        "import opbench as ob\n\n\n@ob.bench\ndef late():\n    import torch\n\n"
        "    assert torch.get_num_threads() == 1, torch.get_num_threads()\n"
    )
    done = opbench_here("run", "bench_late.py", "--num-runs", "1", "--num-repeats", "2")
    assert done.returncode == 0, done.stdout
