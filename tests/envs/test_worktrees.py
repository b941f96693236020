"""Commits of a user's project: named, refused, checked out once, repaired when broken."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opbench.case import Case
from opbench.envs import worktrees
from opbench.envs.environments import Environment, interpreter_facts_of
from opbench.errors import UserError
from opbench.machine import fingerprint
from opbench.workers.pool import Pool

Commit = Callable[[dict[str, str]], str]


@pytest.fixture
def project(tmp_path: Path, git_project: Commit, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits of a small project; the current folder is its `benches`."""
    git_project({"mine/__init__.py": "VERSION = 1\n", "benches/bench_it.py": "# one\n"})
    git_project({"mine/__init__.py": "VERSION = 2\n", "src/more.py": "", "benches/new.py": ""})
    monkeypatch.chdir(tmp_path / "project" / "benches")
    return tmp_path / "project"


def git(project: Path, *words: str) -> str:
    command = ["git", "-C", str(project), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_each_commit_is_an_environment_with_its_own_files(project: Path) -> None:
    old, new = worktrees.environment_for("HEAD~1"), worktrees.environment_for("HEAD")
    assert old.commit == git(project, "rev-parse", "HEAD~1")
    assert old.name == old.commit[:12]
    assert (old.python, new.python) == (sys.executable, sys.executable)
    assert (Path(old.path[0]) / "mine/__init__.py").read_text() == "VERSION = 1\n"
    assert (Path(new.path[0]) / "mine/__init__.py").read_text() == "VERSION = 2\n"
    assert [len(old.path), len(new.path)] == [1, 2]  # src came with the second commit
    assert new.path[1] == f"{new.path[0]}/src"


def test_work_trees_are_in_nobodys_way(project: Path) -> None:
    worktrees.environment_for("HEAD")
    assert git(project, "status", "--porcelain") == ""
    assert (project / ".opbench" / ".gitignore").read_text() == "*\n"
    (project / ".opbench" / ".gitignore").write_text("# mine\n*\n")
    worktrees.environment_for("HEAD~1")
    assert (project / ".opbench" / ".gitignore").read_text() == "# mine\n*\n"


def test_settings_of_a_submodule_run_nothing(project: Path, git_project: Commit) -> None:
    inner = project / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    (inner / "f").write_text("x")
    git(inner, "add", "f")
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    git(inner, *who, "commit", "--quiet", "--message", "one")
    git_project({"other.py": ""})
    git(inner, "config", "filter.z.clean", f"touch {project / 'ran'}; cat")
    (inner / ".git" / "info" / "attributes").write_text("* filter=z\n")
    os.utime(inner / "f", (1e9, 1e9))  # Git must read it to know whether it is the same
    assert worktrees.changes(project) == []
    worktrees.environment_for("HEAD")
    worktrees.environment_for("HEAD")
    assert not (project / "ran").exists()


def test_two_commits_never_share_a_fingerprint(project: Path) -> None:
    sides = [worktrees.environment_for(rev) for rev in ("HEAD~1", "HEAD")]
    marks = {fingerprint({}, interpreter_facts_of(side)) for side in sides}
    marks.add(fingerprint({}, interpreter_facts_of(Environment("current", sys.executable))))
    assert len(marks) == 3


def test_workers_look_into_the_work_tree_first(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/from/the/user")
    side = worktrees.environment_for("HEAD")
    kind = Pool().kind(Case("s", "n", "call", "pass"), side)
    assert dict(kind.env)["PYTHONPATH"] == os.pathsep.join([*side.path, "/from/the/user"])
    assert Environment("current", sys.executable).variables() == {}


def test_a_commit_on_a_built_environment_is_named_after_both(project: Path) -> None:
    base = Environment("np22", "/somewhere/bin/python", installed=("numpy==2.2.6",))
    side = worktrees.environment_for("HEAD", base)
    assert side.name == f"np22@{side.commit[:12]}"
    assert (side.python, side.installed) == (base.python, base.installed)


def test_a_work_tree_is_kept_and_repaired(project: Path) -> None:
    tree = Path(worktrees.environment_for("HEAD").path[0])
    (tree / "untracked").touch()
    assert Path(worktrees.environment_for("HEAD").path[0]) == tree
    assert (tree / "untracked").exists(), "checked out again without need"

    def edit() -> None:
        (tree / "mine/__init__.py").write_text("VERSION = 99\n")

    def lose_git() -> None:
        (tree / ".git").unlink()

    def move_on() -> None:
        git(tree, "checkout", "--quiet", "HEAD~1")

    def half_checked_out() -> None:  # as a killed checkout leaves it, its entry locked
        git(project, "worktree", "lock", str(tree))
        shutil.rmtree(tree / "mine")

    for spoil in (edit, lose_git, move_on, half_checked_out, lambda: shutil.rmtree(tree)):
        spoil()
        worktrees.environment_for("HEAD")
        assert (tree / "mine/__init__.py").read_text() == "VERSION = 2\n"
        assert git(tree, "rev-parse", "HEAD") == git(project, "rev-parse", "HEAD")


@pytest.mark.parametrize("rev", ["nowhere", "", "-h", "HEAD~99", "HEAD:mine", "--all"])
def test_a_commit_that_does_not_exist_is_said_before_anything_is_made(
    rev: str, project: Path
) -> None:
    with pytest.raises(UserError, match=f"no commit '{rev}'"):
        worktrees.environment_for(rev)
    assert not (project / ".opbench").exists()


def test_a_folder_outside_any_project_has_no_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UserError, match="is not in a git project"):
        worktrees.environment_for("HEAD")


@pytest.mark.parametrize("rev", [".", "HEAD", "@"])
def test_a_dirty_work_tree_is_refused_under_its_own_name(rev: str, project: Path) -> None:
    sha = worktrees.resolve(rev).sha
    (project / "new-file").touch()  # not added to git: no change
    assert worktrees.resolve(rev).sha == sha
    (project / "mine/__init__.py").write_text("VERSION = 3\n")
    with pytest.raises(UserError, match=r"\(mine/__init__\.py\).*name the commit " + sha[:12]):
        worktrees.resolve(rev)
    assert worktrees.resolve(sha[:12]).sha == sha


def test_variables_of_a_git_hook_do_not_lead_astray(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    assert worktrees.resolve("HEAD").project == project


def test_hooks_of_the_project_are_left_alone(project: Path, tmp_path: Path) -> None:
    hook = project / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\n")
    hook.chmod(0o755)
    worktrees.environment_for("HEAD")
    assert not (tmp_path / "hook-ran").exists()


def test_a_target_is_the_same_file_at_that_commit(project: Path, tmp_path: Path) -> None:
    tree = worktrees.environment_for("HEAD~1").path[0]
    there = f"{tree}/benches/bench_it.py"
    for name in ("bench_it.py", "../benches/bench_it.py", str(project / "benches/bench_it.py")):
        assert os.path.normpath(worktrees.target_in(tree, name)) == there
    assert worktrees.target_in(tree, "tour") == "tour"
    outside = str(tmp_path / "outside.py")
    assert worktrees.target_in(tree, outside) == outside
    with pytest.raises(UserError, match=r"new\.py does not exist at commit [0-9a-f]{12}"):
        worktrees.target_in(tree, "new.py")
