"""The operators that a framework has, listed by a process of its environment."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable

from opbench.envs.environments import current, find
from opbench.envs.framework_envs import env_name_of
from opbench.errors import UserError
from opbench.worker.main import command

#: The frameworks that can list them; compiled torch has what torch has.
FRAMEWORKS = ("torch", "jax", "onnxruntime", "mxnet", "numpy")
#: Importing a framework on a loaded machine, for the first time.
TIMEOUT_S = 120.0


def inventory(framework: str, on_line: Callable[[str], None] | None = None) -> dict[str, list[str]]:
    """Names of operators by module; UserError where the framework cannot be imported."""
    name = env_name_of(framework)
    environment = find(name, on_line) if name else current()
    try:
        done = subprocess.run(
            command(environment.python, "probe.inventory", framework),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
            env={**os.environ, **environment.variables()},
        )
        found: dict[str, list[str]] = json.loads(done.stdout.strip().splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        why = lines[-1] if lines else type(error).__name__
        raise UserError(f"cannot list the operators of {framework}: {why}") from None
    return found
