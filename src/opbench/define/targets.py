"""What may stand after `opbench run`: a suite's name, a user's file, a run file, a layer config."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opbench.define import suites
from opbench.define.definition import Definition
from opbench.errors import UserError

if TYPE_CHECKING:
    from opbench.define import runfile

RUN_FILES = (".toml", ".json")
#: A file with one of these at its top level is a sweep.
SWEEP_KEYS = ("model", "model_init_params", "input_params", "input_scales", "job_configs")
#: What sweeps are run with: kernel statistics beside the time. A first compilation takes minutes
#: on a busy machine, and is no hang.
SWEEP_OPTIONS = {"metrics": ("time", "kernels"), "timeout": 300.0}

#: What captures are run with: there are hundreds of calls, and what counts is their sum.
#: More worker starts would take longer to import torch than all calls take together.
CAPTURE_OPTIONS = {"precision": 0.05, "max_time_per_case": 0.12, "max_starts": 3}
#: A step in order takes as long as all of its calls together.
STEP_TIME_FACTOR = 20.0


@dataclass
class Targets:
    definitions: list[Definition] = field(default_factory=list)
    #: What run files ask for, by the names of `opbench.run`'s arguments.
    options: dict[str, Any] = field(default_factory=dict)
    #: What suites are run with where neither the person nor a run file says otherwise.
    suggested: dict[str, Any] = field(default_factory=dict)
    #: (suite, name) of benchmarks that may take longer than the others → how many times longer.
    time_factors: dict[tuple[str, str], float] = field(default_factory=dict)

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
            if any(definition.suite == "sweep" for definition in found.definitions):
                found.suggested.update(SWEEP_OPTIONS)
        elif path.suffix not in (".py", ".toml") and _is_layer_config(path):
            _add_layer_config(path, found)
        elif path.suffix == ".jsonl" and _level_of(path) == "api":
            from opbench.suites.captured.api_definition import definitions_of

            found.definitions += definitions_of(path)
        elif path.suffix == ".jsonl":
            _add_capture(path, found)
        elif path.suffix in RUN_FILES:
            _add_run_file(path, found, python, env)
        elif path.exists():
            raise UserError(f"{target} is no Python, TOML or JSON file")
        else:
            found.add_suite(target)  # raises, with the nearest names
    return found


def _level_of(path: Path) -> str:
    from opbench.capture.reading import level_of

    return level_of(path)


def _add_capture(path: Path, found: Targets) -> None:
    from opbench.capture.reading import read
    from opbench.suites.captured.definition import IN_ORDER, definitions

    capture = read(path)
    found.definitions += definitions(capture)
    found.suggested.update(CAPTURE_OPTIONS, threads=capture.threads)
    found.time_factors[(capture.name, IN_ORDER)] = STEP_TIME_FACTOR


def _is_layer_config(path: Path) -> bool:
    """By its keys; a file that cannot be read is left to the reader with the better words."""
    import json

    from opbench.suites.layers.names import SECTIONS

    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and bool(set(content) & set(SECTIONS.values()))


def _add_layer_config(path: Path, found: Targets) -> None:
    from opbench.suites import layers
    from opbench.suites.layers.config import load

    config = load(path)
    found.definitions += layers.configured(config, str(path))
    found.suggested.update(suites.SUITES["layers"].options)
    if config.benchmark:
        found.suggested["clock"] = config.benchmark


def _add_run_file(path: Path, found: Targets, python: str, env: Mapping[str, str] | None) -> None:
    from opbench.define import runfile

    data = runfile.read(path)
    if isinstance(data, dict) and set(SWEEP_KEYS) & set(data):
        from opbench.suites.sweeps.reading import from_table

        definition, sweep = from_table(data, path, python, env)
        found.definitions.append(definition)
        found.suggested.update(SWEEP_OPTIONS)
        _add_options(sweep.run, found)
        return
    content = runfile.checked(data, path)
    for suite in content.run.suites:
        found.add_suite(suite)
    found.definitions += content.definitions
    _add_options(content.run, found)


def _add_options(run: runfile.Run, found: Targets) -> None:
    asked = run.model_dump(exclude_unset=True, exclude={"suites"})
    found.options.update({name: value for name, value in asked.items() if value is not None})
