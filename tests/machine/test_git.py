"""Git in a folder that somebody else has made: what its settings name is not started."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from opbench.envs.worktrees import resolve, work_tree
from opbench.errors import UserError
from opbench.machine.tools import tool_facts


@pytest.fixture
def evil(git_project, tmp_path):
    """Somebody else's folder, unpacked here: its settings name a program. Its commit, and the file
    that shows that the program ran."""
    attributes = "*.txt filter=evil\n*.csv filter=a=b\n"
    commit = git_project({"a.txt": "one\n", "a.csv": "1\n", ".gitattributes": attributes})
    top, proof = tmp_path / "project", tmp_path / "proof"
    program = tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {proof}\ncat\n")
    program.chmod(0o755)
    for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.process", "core.sshCommand"):
        subprocess.run(["git", "-C", str(top), "config", key, str(program)], check=True)
    # Not in the file itself, and under a name that an option could not spell.
    filters = f"clean = {program}\nsmudge = {program}\nprocess = {program}\nrequired = true\n"
    (top / ".git" / "more").write_text(f'[filter "a=b"]\n{filters}')
    subprocess.run(["git", "-C", str(top), "config", "include.path", "more"], check=True)
    hooks = top / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "post-checkout"):
        shutil.copy(program, hooks / name)
    return top, commit, proof


def test_git_starts_nothing_that_a_folder_names(evil):
    top, commit, proof = evil
    for name in ("a.txt", "a.csv"):
        (top / name).write_text("2\n")
    assert tool_facts(top)["git"] == {"commit": commit, "dirty": True}
    assert not proof.exists()


def test_a_checkout_of_a_commit_starts_nothing_that_a_folder_names(evil):
    top, commit, proof = evil
    found = work_tree(resolve(commit, top))
    assert (found / "a.csv").read_text() == "1\n"
    assert not proof.exists()


def test_a_partial_clone_fetches_nothing_in_passing(evil):
    top, commit, proof = evil
    tree = subprocess.run(
        ["git", "-C", str(top), "rev-parse", "HEAD^{tree}"], capture_output=True, text=True
    ).stdout.strip()
    (top / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    for key, value in {
        "core.repositoryformatversion": "1", "extensions.partialClone": "origin",
        "remote.origin.promisor": "true", "remote.origin.url": str(top),
        "remote.origin.uploadpack": str(top.parent / "evil.sh"),
    }.items():  # fmt: skip
        subprocess.run(["git", "-C", str(top), "config", key, value], check=True)
    tool_facts(top)
    with pytest.raises(UserError, match="git"):
        work_tree(resolve(commit, top))
    assert not proof.exists()
