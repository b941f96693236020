"""The same benchmark in two real environments, and at two real commits."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from importlib.metadata import version as version_of
from pathlib import Path

import pytest

from opbench.api.request import build
from opbench.case import Case
from opbench.envs import worktrees
from opbench.result import Result
from opbench.running.runner import Runner
from opbench.store import Store

Command = Callable[..., subprocess.CompletedProcess[str]]
Commit = Callable[[dict[str, str]], str]

BENCH = """
import numpy as np
import opbench as ob

x = np.ones(10)


@ob.bench()
def add():
    return x + x
"""

#: A benchmark whose only result is the version of the code that ran.
TELLING = """
import opbench as ob
from {module} import VERSION


@ob.bench()
def tell():
    raise RuntimeError("this is version %s" % VERSION)
"""

FIXED = ("--num-runs", "1", "--num-repeats", "2")


def test_run_measures_the_same_case_in_both_environments(
    opbench_here: Command, numpy_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPBENCH_HOME", str(numpy_home))
    (tmp_path / "bench_np.py").write_text(BENCH)
    ran = opbench_here("run", "bench_np.py", "--env", "np22,current", *FIXED)
    assert ran.returncode == 0, ran.stderr
    assert [name in ran.stdout for name in ("environment", "np22", "current")] == [True] * 3
    where = tmp_path / ".opbench/results.db"
    with Store.open(where) as store:
        by_name = {stored.result.environment: stored for stored in store.results()}
        facts = {
            name: store.environment(stored.result.fingerprint) for name, stored in by_name.items()
        }
    assert sorted(by_name) == ["current", "np22"]
    assert len({stored.case.hash for stored in by_name.values()}) == 1
    assert len({stored.result.fingerprint for stored in by_name.values()}) == 2
    versions = {name: found["interpreter"]["packages"]["numpy"] for name, found in facts.items()}
    assert versions == {"np22": "2.2.5", "current": version_of("numpy")}
    assert version_of("numpy") != "2.2.5"

    # Continued, the run still knows its environments, and lacks nothing.
    again = opbench_here("run", "--cont")
    assert again.returncode == 0, again.stderr
    with Store.open(where) as store:
        after = {s.result.environment: s.result for s in store.results()}
    assert {n: r.created for n, r in after.items()} == {
        name: stored.result.created for name, stored in by_name.items()
    }


def test_a_file_is_read_where_its_framework_is(
    opbench_here: Command, numpy_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPBENCH_HOME", str(numpy_home))
    (tmp_path / "bench_old.py").write_text(
        'import numpy\nassert numpy.__version__ == "2.2.5", "read elsewhere"\n' + BENCH
    )
    assert opbench_here("run", "bench_old.py", "--env", "np22", "--dry-run").returncode == 0
    refused = opbench_here("run", "bench_old.py", "--env", "current", "--dry-run")
    assert "read elsewhere" in refused.stderr


def test_a_run_file_and_python_name_environments_too(
    numpy_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPBENCH_HOME", str(numpy_home))
    file = tmp_path / "two.toml"
    file.write_text(
        '[run]\nenvironments = ["np22", "current"]\n\n[[benchmark]]\nname = "n"\nstmt = "pass"\n'
    )
    request, settled = build({"targets": (str(file),)})
    assert [place.name for place in request.environments] == ["np22", "current"]
    assert settled.environments == ("np22", "current")
    request, _ = build({"targets": (str(file),), "environments": "current"})
    assert [place.name for place in request.environments] == ["current"]


def outcome_at(rev: str, target: str) -> Result:
    """What the benchmark gives at a commit, by a real worker."""
    side = worktrees.environment_for(rev)
    inside = worktrees.target_in(side.path[0], target)
    request, _ = build({"targets": (inside,), "num_runs": 1, "num_repeats": 1}, [side])
    found: list[tuple[Case, Result]] = Runner(request, lambda *_: None).run()
    return found[0][1]


@pytest.mark.parametrize(
    ("files", "target"),
    [
        # Relative imports inside a package.
        (
            {
                "pack/__init__.py": "",
                "pack/core.py": "VERSION = {v}\n",
                "pack/bench_it.py": TELLING.format(module=".core"),
            },
            "pack/bench_it.py",
        ),
        # The package under src, the benchmark beside it.
        (
            {
                "src/proj/__init__.py": "VERSION = {v}\n",
                "benches/bench_it.py": TELLING.format(module="proj"),
            },
            "benches/bench_it.py",
        ),
        # The package at the top.
        (
            {
                "proj/__init__.py": "VERSION = {v}\n",
                "benches/bench_it.py": TELLING.format(module="proj"),
            },
            "benches/bench_it.py",
        ),
    ],
    ids=["relative", "src", "flat"],
)
def test_each_commit_runs_its_own_code(
    files: dict[str, str],
    target: str,
    git_project: Commit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for version in ("1", "2"):
        git_project({name: text.replace("{v}", version) for name, text in files.items()})
    monkeypatch.chdir(tmp_path / "project")
    old, new = outcome_at("HEAD~1", target), outcome_at("HEAD", target)
    assert "this is version 1" in old.reason
    assert "this is version 2" in new.reason
    assert old.environment != new.environment
    assert old.fingerprint != new.fingerprint
    # A file outside the project runs on every commit.
    outside = tmp_path / "bench_outside.py"
    outside.write_text(files[target].replace(".core", "pack.core"))
    assert "this is version 1" in outcome_at("HEAD~1", str(outside)).reason
