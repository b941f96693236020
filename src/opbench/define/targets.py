"""What may stand after `opbench run`: a suite's name, a user's file, a run file, a layer config."""

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
    #: What suites are run with where neither the person nor a run file says otherwise.
    suggested: dict[str, Any] = field(default_factory=dict)

    def add_suite(self, name: str) -> None:
        self.definitions += suites.load(name)
        self.suggested.update(suites.SUITES[name].options)


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
            found.add_suite(target)
        elif path.suffix == ".py":
            from opbench.define.userfile import definitions_from

            found.definitions += definitions_from(path, python, env=env)
        elif path.suffix not in (".py", ".toml") and _is_layer_config(path):
            _add_layer_config(path, found)
        elif path.suffix in RUN_FILES:
            _add_run_file(path, found)
        elif path.exists():
            raise DefineError(f"{target} is no Python, TOML or JSON file")
        else:
            found.add_suite(target)  # raises, with the nearest names
    return found


def _is_layer_config(path: Path) -> bool:
    """By its keys; a file that cannot be read is left to the reader with the better words."""
    import json

    from opbench.define.layers.names import SECTIONS

    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and bool(set(content) & set(SECTIONS.values()))


def _add_layer_config(path: Path, found: Targets) -> None:
    from opbench.define import layers
    from opbench.define.layers.config import load

    config = load(path)
    found.definitions += layers.configured(config, str(path))
    found.suggested.update(suites.SUITES["layers"].options)
    if config.benchmark:
        found.suggested["clock"] = config.benchmark


def _add_run_file(path: Path, found: Targets) -> None:
    from opbench.define import runfile

    content = runfile.load(path)
    for suite in content.run.suites:
        found.add_suite(suite)
    found.definitions += content.definitions
    asked = content.run.model_dump(exclude_unset=True, exclude={"suites"})
    found.options.update({name: value for name, value in asked.items() if value is not None})
