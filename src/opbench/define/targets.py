"""What may stand after `opbench run`: a suite's name, a user's file, a run file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opbench.define import suites
from opbench.define.definition import DefineError, Definition

RUN_FILES = (".toml", ".json")


@dataclass
class Targets:
    definitions: list[Definition] = field(default_factory=list)
    #: What run files ask for, by the names of `opbench.run`'s arguments.
    options: dict[str, Any] = field(default_factory=dict)


def resolve(
    targets: Iterable[str], python: str = sys.executable, env: Mapping[str, str] | None = None
) -> Targets:
    """The definitions behind the given names and files; without any, the tour.

    Users' files are read by the interpreter `python`, with the variables `env` added to its own.
    """
    found = Targets()
    for target in list(targets) or ["tour"]:
        path = Path(target)
        if target in suites.SUITES:
            found.definitions += suites.load(target)
        elif path.suffix == ".py":
            from opbench.define.userfile import definitions_from

            found.definitions += definitions_from(path, python, env=env)
        elif path.suffix in RUN_FILES:
            _add_run_file(path, found)
        elif path.exists():
            raise DefineError(f"{target} is no Python, TOML or JSON file")
        else:
            found.definitions += suites.load(target)  # raises, with the nearest names
    return found


def _add_run_file(path: Path, found: Targets) -> None:
    from opbench.define import runfile

    content = runfile.load(path)
    for suite in content.run.suites:
        found.definitions += suites.load(suite)
    found.definitions += content.definitions
    asked = content.run.model_dump(exclude_unset=True, exclude={"suites"})
    found.options.update({name: value for name, value in asked.items() if value is not None})
