"""An environment is an interpreter with its packages: a dimension of a run like any other."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

from opbench.worker import facts


@dataclass(frozen=True)
class Environment:
    name: str
    python: str


def current() -> Environment:
    """The interpreter that opbench itself runs in."""
    return Environment("current", sys.executable)


@cache
def interpreter_facts_of(environment: Environment) -> dict[str, Any]:
    """What is installed there, without importing it."""
    if environment.python == sys.executable:
        return facts.interpreter_facts()
    answer = subprocess.run(
        [environment.python, facts.__file__], capture_output=True, text=True, timeout=60, check=True
    )
    found: dict[str, Any] = json.loads(answer.stdout)
    return found
