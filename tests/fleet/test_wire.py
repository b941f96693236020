"""What is sent to a node arrives unchanged: users' files, environments, policies, results."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from opbench.case import Case, UserModule
from opbench.envs import builds
from opbench.envs.environments import Environment, find
from opbench.errors import UserError
from opbench.fleet import wire
from opbench.plan.policy import Adaptive, Fixed
from opbench.result import Result, Sample, Warning


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "package" / "deeper").mkdir(parents=True)
    (root / ".venv").mkdir()
    (root / "bench_it.py").write_text("from package.deeper.word import WORD\n")
    (root / "package" / "__init__.py").write_text("")
    (root / "package" / "deeper" / "word.py").write_text("WORD = 'hello'\n")
    (root / "package" / "weights.bin").write_bytes(b"\0" * 100)
    (root / ".venv" / "other.py").write_text("raise SystemExit\n")
    return root


def case_of(root: Path) -> Case:
    module = UserModule(root=str(root), module="bench_it", digest="0")
    return Case("bench_it", "f", "call", "f()", module=module)


def test_a_node_without_the_folder_gets_its_python_files_and_one_with_it_uses_its_own(
    project: Path, tmp_path: Path
) -> None:
    sent = wire.files_of([case_of(project)])
    assert set(sent[str(project)]) == {
        "bench_it.py", "package/__init__.py", "package/deeper/word.py",
    }  # fmt: skip
    assert wire.write_files(sent, tmp_path / "node") == {}, "a shared disk has it already"
    (project / "bench_it.py").write_text("raise SystemExit('of another day')\n")
    roots = wire.write_files(sent, tmp_path / "node")
    there = roots[str(project)]
    assert Path(there).is_relative_to(tmp_path / "node")
    done = subprocess.run(
        ["python3", "-c", "import bench_it; print(bench_it.WORD)"],
        cwd=there,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "hello\n"
    assert wire.write_files(sent, tmp_path / "node") == roots, "laid out once"


def test_a_name_that_leads_out_of_the_folder_is_not_written(tmp_path: Path) -> None:
    sent = {"/nowhere": {"../../escaped.py": b"x", "fine.py": b"y"}}
    (there,) = wire.write_files(sent, tmp_path / "node").values()
    assert [path.name for path in Path(there).rglob("*.py")] == ["fine.py"]
    assert not list(tmp_path.rglob("escaped.py"))


def test_a_project_that_is_too_large_is_refused_with_what_to_do(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MAX_FILES", 2)
    with pytest.raises(UserError, match="put the project on a disk that all nodes share"):
        wire.files_of([case_of(project)])


@pytest.mark.slow
def test_an_environment_is_built_on_the_node_that_lacks_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A really built one, in the folders of two machines."""
    monkeypatch.setenv("OPBENCH_HOME", str(tmp_path / "here"))
    builds.create("small", ["six==1.16.0"])
    sent = wire.environment_to_dict(find("small"))
    monkeypatch.setenv("OPBENCH_HOME", str(tmp_path / "node"))
    assert builds.load("small") is None
    built = wire.environment_from_dict(sent)
    assert built.name == "small"
    assert built.broken == ""
    assert Path(built.python).is_relative_to(tmp_path / "node")
    said = subprocess.run(
        [built.python, "-c", "import six; print(six.__version__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "1.16.0\n"
    before = {one.name for one in builds.built()}
    assert wire.environment_from_dict(sent).python == built.python, "built once"
    assert {one.name for one in builds.built()} == before


def test_an_environment_that_the_node_cannot_build_is_an_outcome_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPBENCH_HOME", str(tmp_path))
    # Refused before anything is installed; what pip says of a package is in the tests of `envs`.
    sent = {"name": "odd", "installed": ["no-such-package-as-this=="], "broken": ""}
    assert "no-such-package-as-this" in wire.environment_from_dict(sent).broken


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (Environment("v1", "python", commit="0" * 40), "compare commits on one machine"),
        (Environment("mine", "python", installed=("a @ file:///x",)), "publish it, or give a URL"),
    ],
)
def test_what_only_this_machine_has_is_refused(environment: Environment, said: str) -> None:
    with pytest.raises(UserError, match=said):
        wire.environment_to_dict(environment)


@pytest.mark.parametrize("policy", [Adaptive(precision=0.007, starts=5), Fixed(num_runs=3)])
def test_policies_arrive_as_they_were(policy) -> None:
    assert wire.policy_from_dict(wire.policy_to_dict(policy)) == policy


def test_results_arrive_as_they_were() -> None:
    sample = Sample(1.5, start=1, session=2, order=3, n=4, wall_ns=5, cpu_ns=6, contended=True)
    result = Result(
        "0" * 20, "time", "s", estimate=1.5, low=1.0, high=2.0, samples=(sample, sample),
        warnings=(Warning("few", "too few"),), detail={"starts": 3}, node="one", created=1.0,
    )  # fmt: skip
    assert wire.result_from_dict(wire.result_to_dict(result)) == result
