"""Commits of the user's project as environments: a work tree each, made once and kept.

A commit is checked out, detached, under `.opbench/worktrees` of the project; its folder (and its
`src`) stand first on the path of the workers, before whatever is installed. Compiled parts of a
project are not built: a commit differs by its Python files.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opbench import children
from opbench.envs.environments import Environment, current
from opbench.errors import UserError
from opbench.machine import git

#: Names of the current work tree. Its commit is measured, so it must be clean.
WORK_TREE = (".", "HEAD", "@")
SHORT = 12
#: Git reads its settings in some milliseconds.
CONFIG_SECONDS = 60.0
#: Names of files that differ. Of a submodule its commit, and not its files: Git would run what that
#: repository's own settings say.
CHANGED = ("diff", "--name-only", "--ignore-submodules=dirty")
#: Targets that are files; any other is the name of a suite.
FILES = (".py", ".toml", ".json")


@dataclass(frozen=True)
class Commit:
    """A commit of a project, by its full name."""

    sha: str
    #: As the user wrote it.
    rev: str
    #: Top folder of the project.
    project: Path

    @property
    def short(self) -> str:
        return self.sha[:SHORT]

    @property
    def folder(self) -> Path:
        return self.project / ".opbench" / "worktrees" / self.short


def environment_for(
    rev: str, base: Environment | None = None, project: Path | None = None
) -> Environment:
    """The commit as an environment, on the interpreter of `base`; creates its work tree if need be.

    `project` is any folder of the project; the current one by default.
    """
    base = base or current()
    commit = resolve(rev, project)
    tree = work_tree(commit)
    source = tree / "src"
    path = (str(tree), *([str(source)] if source.is_dir() else []))
    name = commit.short if base.name == "current" else f"{base.name}@{commit.short}"
    return Environment(name, base.python, commit.sha, (*path, *base.path), base.installed)


def resolve(rev: str, project: Path | None = None) -> Commit:
    """The commit that `rev` names, or a UserError."""
    top = project_of(project or Path.cwd())
    wanted = "HEAD" if rev == "." else rev
    found = None
    if wanted and not wanted.startswith("-"):
        found = _git(top, "rev-parse", "--verify", "--quiet", f"{wanted}^{{commit}}")
    if not found:
        raise UserError(f"no commit '{rev}' in {top}; give a branch, a tag or a hash (see git log)")
    if rev in WORK_TREE:
        changed = changes(top)
        if changed:
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            raise UserError(
                f"the work tree has uncommitted changes ({changed[0]}{more}), which '{rev}' would "
                f"not measure; commit them, or name the commit {found[:SHORT]}"
            )
    return Commit(found, rev, top)


def project_of(folder: Path) -> Path:
    """Top folder of the git project around a folder."""
    if shutil.which("git") is None:
        raise UserError("measuring commits needs git: apt install git")
    answer = _call(folder, "rev-parse", "--show-toplevel")
    if answer.returncode:
        errors = answer.stderr.strip().splitlines()
        # Git also refuses folders of other users, with advice.
        why = "" if not errors or "not a git repository" in errors[0] else f" ({errors[0]})"
        raise UserError(f"{folder} is not in a git project, so it has no commits to measure{why}")
    return Path(answer.stdout.strip())


def changes(tree: Path) -> list[str]:
    """Files that differ from the commit. Untracked files do not count."""
    names = _git(tree, *CHANGED, "-z", "HEAD")
    return [name for name in (names or "").split("\0") if name]


def work_tree(commit: Commit) -> Path:
    """The folder in which the commit is checked out; created or repaired if need be."""
    with _locked(commit.project):
        if not _is_intact(commit):
            shutil.rmtree(commit.folder, ignore_errors=True)
            _git(commit.project, "worktree", "prune")
            _add(commit)
    return commit.folder


def target_in(tree: Path | str, target: str, project: Path | None = None) -> str:
    """A target as it is at the commit checked out in `tree`.

    A file of the project becomes the same file there. The name of a suite, and a file outside the
    project, are the same for every commit.
    """
    if Path(target).suffix not in FILES:
        return target
    top = project_of(project or Path.cwd()).resolve()
    file = Path(target).absolute()
    # The folder is resolved, the file is not: a link in the project is a file of the project.
    file = file.parent.resolve() / file.name
    if not file.is_relative_to(top):
        return str(file)
    there = Path(tree) / file.relative_to(top)
    if not there.is_file():
        raise UserError(
            f"{target} does not exist at commit {Path(tree).name}; commit it there, or copy it out "
            "of the project to run the same file on every commit"
        )
    return str(there)


def _is_intact(commit: Commit) -> bool:
    """Whether the folder is a work tree of that commit, without changes."""
    if not (commit.folder / ".git").is_file():
        return False  # git would answer for the enclosing project
    head = _git(commit.folder, "rev-parse", "HEAD")
    return head == commit.sha and _git(commit.folder, *CHANGED, "HEAD") == ""


def _add(commit: Commit) -> None:
    # Forced twice: a checkout that was killed half-way leaves its entry locked.
    add = ["worktree", "add", "--force", "--force", "--detach", str(commit.folder), commit.sha]
    answer = _call(commit.project, *add)
    if answer.returncode or not _is_intact(commit):
        errors = answer.stderr.strip().splitlines()
        shutil.rmtree(commit.folder, ignore_errors=True)
        _git(commit.project, "worktree", "prune")
        reason = errors[-1] if errors else "files differ from the commit right after the checkout"
        if any("not allowed" in line for line in errors):  # nothing is fetched in passing
            reason = f"this partial clone lacks files of it; run git checkout {commit.short} once"
        raise UserError(f"git could not check out {commit.rev} ({commit.short}): {reason}")


@contextmanager
def _locked(project: Path) -> Iterator[None]:
    """One process at a time creates work trees; the lock is released when it ends."""
    folder = project / ".opbench"
    try:
        (folder / "worktrees").mkdir(parents=True, exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
        lock = open(folder / "worktrees" / ".lock", "a")  # noqa: SIM115
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {error.strerror}") from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _git(folder: Path, *words: str) -> str | None:
    """What git printed, or None when it failed."""
    answer = _call(folder, *words)
    return None if answer.returncode else answer.stdout.strip()


def _call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = git.environment(folder, CONFIG_SECONDS)
    if env is None:
        raise UserError(f"git does not answer in {folder}")
    return children.run(
        children.program(*git.GIT, "-C", str(folder), *words),
        env={**env, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
    )
