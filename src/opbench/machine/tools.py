"""Versions of programs that measurements need, and the commit of the project that is measured.

All programs are started together and then waited for, so that the slowest determines the time.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opbench import children
from opbench.machine import git

VERSION_COMMANDS = {
    "valgrind": ["valgrind", "--version"],
    "g++": ["g++", "-dumpfullversion", "-dumpversion"],
    "clang": ["clang", "--version"],
}


def tool_facts(project: Path | None = None) -> dict[str, Any]:
    """`tools`: the version of each, or None; `git`: the commit of the project, or None."""
    started = {name: _start(command, None) for name, command in VERSION_COMMANDS.items()}
    where = project or Path.cwd()
    status = ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules")
    env = git.environment(where)
    commit = _start([*git.GIT, "rev-parse", "HEAD"], where, env) if env else None
    changes = _start([*git.GIT, *status], where, env) if env else None
    tools = {name: _version(_answer(process)) for name, process in started.items()}
    head, changed = _answer(commit), _answer(changes)
    return {
        "tools": tools,
        "git": None if not head else {"commit": head.strip(), "dirty": bool(changed)},
    }


def _start(
    command: list[str], where: Path | None, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str] | None:
    program = shutil.which(command[0])
    if program is None:
        return None
    try:
        return subprocess.Popen(
            [program, *command[1:]],
            cwd=where,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=children.dying_with_us(),
            text=True,
            errors="replace",
        )
    except OSError:
        return None


def _answer(process: subprocess.Popen[str] | None) -> str | None:
    """What it printed, None when it is absent, failed or took too long."""
    if process is None:
        return None
    try:
        output, _ = process.communicate(timeout=git.TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    return output if process.returncode == 0 else None


def _version(answer: str | None) -> str | None:
    found = re.search(r"\d+(\.\d+)+", answer or "")
    return found[0] if found else None
