"""An environment is an interpreter with its packages, or one with a commit of the user's project:
a dimension of a run like any other.

`current` is the interpreter opbench runs in. Others are built from requirements
(`environment_builds`) or made from a commit (`worktrees`); here they all look alike.
"""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from opbench.errors import UserError
from opbench.worker.main import command
from opbench.worker.probe import facts

#: Asking a cold interpreter for its packages takes a second; on a busy network disk, many.
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Environment:
    name: str
    python: str
    #: Of the user's project, when the environment is one of its commits.
    commit: str = ""
    #: Folders that its workers find modules in before any other.
    path: tuple[str, ...] = ()
    #: What a built environment consists of: `numpy==2.2.6`, …; empty where nobody pinned it.
    installed: tuple[str, ...] = field(default=(), repr=False)
    #: Why it could not be built: what needs it is unsupported here, and the rest goes on.
    broken: str = ""

    def variables(self) -> dict[str, str]:
        """What its processes need in their environment, besides what they inherit."""
        if not self.path:
            return {}
        inherited = os.environ.get("PYTHONPATH")
        return {"PYTHONPATH": os.pathsep.join([*self.path, *([inherited] if inherited else [])])}

    def identity(self) -> dict[str, Any]:
        """What tells it from another one with the same interpreter; part of the fingerprint."""
        mine = {"commit": self.commit, "installed": list(self.installed)}
        return {key: value for key, value in mine.items() if value}


def current() -> Environment:
    """The interpreter that opbench itself runs in."""
    return Environment("current", sys.executable)


def find(name: str, on_line: Callable[[str], None] | None = None) -> Environment:
    """The environment of that name. A predefined one is built on first use, which takes minutes:
    `on_line` hears of it."""
    from opbench.envs import builds

    if name == "current":
        return current()
    build = builds.load(name)
    if build is None and name in builds.PREDEFINED:
        build = builds.create_predefined(name, on_line=on_line)
    if build is None:
        known = names()
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(near)}? Or" if near else f"there is {', '.join(known)};"
        raise UserError(
            f"there is no environment '{name}'; {hint} "
            f"create it with: opbench env create {name} REQUIREMENT…"
        )
    if not os.path.exists(build.python):
        raise UserError(
            f"the interpreter that environment '{name}' was made from is gone; make it anew: "
            f"opbench env remove {name}, then create it again"
        )
    return Environment(name, build.python, installed=build.packages)


def names() -> list[str]:
    """Every name that `find` knows: the current one, predefined ones, those that were built."""
    from opbench.envs import builds

    built = [build.name for build in builds.built()]
    return list(dict.fromkeys(["current", *builds.PREDEFINED, *built]))


@cache
def interpreter_facts_of(environment: Environment) -> dict[str, Any]:
    """What is installed there, without importing it, and what else makes the environment."""
    if environment.broken:
        return {"version": "", "packages": {}, "broken": environment.broken}
    if environment.python == sys.executable and not environment.path:
        return {**facts.interpreter_facts(), **environment.identity()}
    try:
        answer = subprocess.run(
            command(environment.python, "probe.facts"),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
            env={**os.environ, **environment.variables()},
        )
        found: dict[str, Any] = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        raise UserError(
            f"the interpreter of environment '{environment.name}' ({environment.python}) does not "
            f"answer: {said[-1] if said else type(error).__name__}"
        ) from None
    return {**found, **environment.identity()}
