"""An environment is an interpreter with its packages, or one with a commit of the user's project:
a dimension of a run like any other.

`current` is the interpreter opbench runs in. Others are built from requirements (`builds`), were
built by others (`interpreters`) or are commits (`worktrees`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from opbench import children
from opbench.errors import UserError, unknown
from opbench.worker.probe import facts

#: A cold interpreter takes a second to list its packages; on a busy network disk, many.
TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Environment:
    name: str
    python: str
    #: Of the user's project, when the environment is one of its commits.
    commit: str = ""
    #: Folders that its workers find modules in before any other.
    path: tuple[str, ...] = ()
    #: The packages of a built environment: `numpy==2.2.6`, …; empty where they are not pinned.
    installed: tuple[str, ...] = field(default=(), repr=False)
    #: Why it could not be built: its cases are unsupported, and the rest of the run goes on.
    broken: str = ""

    def variables(self) -> dict[str, str]:
        """Environment variables for its processes, besides what they inherit."""
        if not self.path:
            return {}
        inherited = os.environ.get("PYTHONPATH")
        return {"PYTHONPATH": os.pathsep.join([*self.path, *([inherited] if inherited else [])])}

    def identity(self) -> dict[str, Any]:
        """What distinguishes it from others with the same interpreter; part of the fingerprint."""
        parts = {"commit": self.commit, "installed": list(self.installed)}
        return {key: value for key, value in parts.items() if value}


def current() -> Environment:
    """The interpreter that opbench itself runs in."""
    return Environment("current", sys.executable)


def find(name: str, on_line: Callable[[str], None] | None = None) -> Environment:
    """The environment of that name, or of the interpreter at that path. A predefined one is built
    on first use, which takes minutes; `on_line` gets each line of output."""
    from opbench.envs import builds, interpreters

    if name == "current":
        return current()
    if interpreters.is_path(name):
        return Environment(name, interpreters.python_at(name))
    added = interpreters.added()
    if name in added:
        return Environment(name, interpreters.python_at(added[name]))
    build = builds.load(name)
    if build is None and name in builds.PREDEFINED:
        build = builds.create_predefined(name, on_line=on_line)
    if build is None:
        raise UserError(
            f"{unknown('environment', name, names())} "
            f"(to create it: opbench env create {name} REQUIREMENT…; an interpreter is named by "
            "its path)"
        )
    if not os.path.exists(build.python):
        raise UserError(
            f"the interpreter of environment '{name}' is gone; run opbench env remove {name} and "
            "create it again"
        )
    return Environment(name, build.python, installed=build.packages)


def names() -> list[str]:
    """Every name that `find` knows: the current one, predefined, built and added ones."""
    from opbench.envs import builds, interpreters

    built = [build.name for build in builds.built()]
    return list(dict.fromkeys(["current", *builds.PREDEFINED, *built, *interpreters.added()]))


@cache
def interpreter_facts_of(environment: Environment) -> dict[str, Any]:
    """The facts of its interpreter, without importing any package, and its identity."""
    if environment.broken:
        return {"version": "", "packages": {}, "broken": environment.broken}
    if environment.python == sys.executable and not environment.path:
        return {**facts.interpreter_facts(), **environment.identity()}
    try:
        answer = children.run(
            children.module(environment.python, "probe.facts"),
            timeout=TIMEOUT_S,
            check=True,
            env={**os.environ, **environment.variables()},
        )
        found: dict[str, Any] = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        raise UserError(
            f"the interpreter of environment '{environment.name}' ({environment.python}) does not "
            f"answer: {lines[-1] if lines else type(error).__name__}"
        ) from None
    return {**found, **environment.identity()}
