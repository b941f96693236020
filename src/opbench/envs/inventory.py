"""The operators that a framework has, listed by a process of its environment."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from opbench import children, frameworks
from opbench.case import Case
from opbench.envs.environments import current, find
from opbench.envs.framework_envs import env_name_of
from opbench.errors import UserError

#: The frameworks that can list them; compiled torch has what torch has.
FRAMEWORKS = tuple(framework.name for framework in frameworks.by_module().values())
#: Importing a framework on a loaded machine, for the first time.
TIMEOUT_S = 300.0


def inventory(
    framework: str, on_line: Callable[[str], None] | None = None
) -> dict[str, list[list[str]]]:
    """The operators of each module, each with all its names; UserError where the framework cannot
    be imported."""
    found: dict[str, list[list[str]]] = asked(
        framework, "probe.inventory", framework, on_line=on_line
    )
    return found


@dataclass(frozen=True)
class Executed:
    """What some cases ran, each once."""

    #: Functions and operators of the framework, by every name that they have.
    names: frozenset[str]
    #: Those of torch that were all that a case called, or all that torch ran for it.
    alone: frozenset[str]
    #: By the name of a case, why it could not run.
    failed: dict[str, str]


def executed(framework: str, cases: Sequence[Case]) -> Executed:
    """Run each of the cases once, in the environment of the framework."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump([case.to_dict() for case in cases], file)
        file.flush()
        answer = asked(framework, "probe.executed", framework, file.name)
    names, alone = frozenset(answer["names"]), frozenset(answer["alone"])
    return Executed(names, alone, answer["failed"])


def asked(
    framework: str, probe: str, *words: str, on_line: Callable[[str], None] | None = None
) -> Any:
    """What a probe answers, run in the environment of the framework."""
    name = env_name_of(framework)
    environment = find(name, on_line) if name else current()
    try:
        done = children.run(
            children.module(environment.python, probe, *words),
            timeout=TIMEOUT_S,
            check=True,
            env={**os.environ, **environment.variables()},
        )
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        why = lines[-1] if lines else type(error).__name__
        raise UserError(f"cannot list the operators of {framework}: {why}") from None
