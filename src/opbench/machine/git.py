"""Git as it may be called in a folder that somebody else has made: what the folder's own settings
name is not started. Those of the user count: Git LFS is set up there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from opbench import children

#: Neither monitors nor hooks.
GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")

#: Set inside hooks and aliases, where they would point git at another repository.
INHERITED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX")

#: A network file system or a huge repository may be slow; a fact is not worth a longer wait.
TIMEOUT_S = 2.0

#: The repository's own settings, as Git names their scopes.
THEIRS = ("local", "worktree")
#: What makes a filter of Git's a filter, and what switches each off.
OFF = {"clean": "", "smudge": "", "process": "", "required": "false"}


def environment(where: Path, timeout: float = TIMEOUT_S) -> dict[str, str] | None:
    """The variables of a Git that starts no filter of the repository's and fetches nothing, for a
    partial clone fetches with a program of its settings; None when Git does not answer."""
    env = {name: value for name, value in os.environ.items() if name not in INHERITED}
    env |= {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
    question = ("config", "-z", "--show-scope", "--includes", "--name-only", "--get-regexp")
    try:
        answer = subprocess.run(
            [*GIT, *question, r"^filter\."],
            cwd=where,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            preexec_fn=children.dying_with_us(),
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if answer.returncode not in (0, 1):  # 1: there are none
        return None
    words = answer.stdout.decode(errors="surrogateescape").split("\0")
    theirs = {
        name.rpartition(".")[0] for scope, name in zip(words[::2], words[1::2]) if scope in THEIRS
    }
    # As variables, for a filter's name may have any character, those of an option's syntax too.
    given = int(env.get("GIT_CONFIG_COUNT") or 0)
    settings = [(f"{name}.{key}", value) for name in sorted(theirs) for key, value in OFF.items()]
    for number, (name, value) in enumerate(settings, given):
        env |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return {**env, "GIT_CONFIG_COUNT": str(given + len(settings))}
