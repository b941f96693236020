"""What operators a framework has, asked in a process of its environment."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable

from opbench.envs.environments import current, find
from opbench.envs.framework_envs import home_of
from opbench.errors import UserError
from opbench.worker.main import command

#: The frameworks that can be asked; compiled torch has what torch has.
FRAMEWORKS = ("torch", "jax", "onnxruntime", "mxnet", "numpy")
#: Importing a framework on a loaded machine, for the first time.
PATIENCE_S = 120.0


def inventory(framework: str, on_line: Callable[[str], None] | None = None) -> dict[str, list[str]]:
    """Names by the place they are found in. UserError, in one line, where nobody can be asked."""
    home = home_of(framework)
    place = find(home, on_line) if home else current()
    try:
        done = subprocess.run(
            command(place.python, "probe.inventory", framework),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
            env={**os.environ, **place.variables()},
        )
        found: dict[str, list[str]] = json.loads(done.stdout.strip().splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        why = said[-1] if said else type(error).__name__
        raise UserError(f"{framework} does not say what it has: {why}") from None
    return found
