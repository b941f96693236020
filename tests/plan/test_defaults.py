"""`[tool.opbench]` and OPBENCH_STORE: who wins over whom, and what is wrong, in one line."""

from __future__ import annotations

import os

import pytest

from opbench.store.connection.address import parse_address

BENCH = """
[run]
{run}

[[benchmark]]
name = "add"
stmt = "1 + 1"
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.delenv("OPBENCH_STORE", raising=False)
    monkeypatch.chdir(tmp_path)

    def write(table: str, run: str = ""):
        (tmp_path / "pyproject.toml").write_text(
            f'[project]\nname = "x"\n\n[tool.opbench]\n{table}\n'
        )
        (tmp_path / "bench.toml").write_text(BENCH.format(run=run))
        return tmp_path

    return write


def planned(opbench_here, *words: str) -> str:
    done = opbench_here("run", "bench.toml", "--dry-run", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_the_project_speaks_where_nobody_did(opbench_here, project):
    project('precision = "7%"\nmetrics = ["time", "memory"]\nmax-time-per-case = "3s"')
    said = planned(opbench_here)
    assert "time, memory" in said
    assert "precision=0.07" in said
    assert "max_time=3" in said


def test_a_store_of_nobody_and_a_file_without_end_are_no_traceback(opbench_here, project):
    folder = project('store = "~nobody-of-that-name/x.db"')
    done = opbench_here("runs")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "no such user" in done.stderr
    os.truncate(folder / "pyproject.toml", 3 << 30)  # with a hole: it takes no room
    done = opbench_here("runs")
    assert "there is no store" in done.stderr


def test_a_run_file_and_the_command_line_win(opbench_here, project):
    project('precision = "7%"', run='precision = "6%"')
    assert "precision=0.06" in planned(opbench_here)
    assert "precision=0.05" in planned(opbench_here, "--precision", "5%")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('precison = "1%"', "tool.opbench: unknown option 'precison'; did you mean precision?"),
        ('precision = "much"', "tool.opbench.precision: expected a percentage such as '1%'"),
        ("axes = {n = [1]}", "tool.opbench: unknown option 'axes'"),
        ("store = 3", "tool.opbench.store: expected text, found 3"),
        ("store =", "not valid TOML"),
    ],
)
def test_what_is_wrong_is_one_line(opbench_here, project, table, said):
    project(table)
    done = opbench_here("run", "bench.toml", "--dry-run")
    done = opbench_here("runs") if done.returncode == 0 else done
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_store_is_relative_to_the_file_that_names_it(project, monkeypatch):
    folder = project('store = "results/all.db"')
    inner = folder / "benchmarks" / "deep"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert parse_address(None).path == folder / "results" / "all.db"
    assert str(parse_address("mine.db").path) == "mine.db"


def test_the_shell_wins_over_the_project(project, monkeypatch, tmp_path):
    project('store = "results/all.db"')
    monkeypatch.setenv("OPBENCH_STORE", str(tmp_path / "other.db"))
    assert parse_address(None).path == tmp_path / "other.db"


def test_a_project_without_a_table_is_passed_over(project, monkeypatch):
    folder = project('store = "outer.db"')
    (folder / "inner").mkdir()
    (folder / "inner" / "pyproject.toml").write_text('[project]\nname = "y"\n')
    monkeypatch.chdir(folder / "inner")
    assert parse_address(None).path == folder / "outer.db"
