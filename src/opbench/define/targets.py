"""Targets of `opbench run`: the name of a suite, a user's file, a run file, a suite's file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opbench import files
from opbench.define import suites
from opbench.define.suite import TargetFile, Targets
from opbench.errors import UserError, nearest

if TYPE_CHECKING:
    from opbench.define import runfile

RUN_FILES = (".toml", ".json")


def resolve(
    targets: Iterable[str], python: str = sys.executable, env: Mapping[str, str] | None = None
) -> Targets:
    """The definitions behind the given names and files; without any, the default suite.

    Users' files are read by the interpreter `python`, with the variables `env` added to its own.
    """
    resolved = Targets()
    for target in list(targets) or suites.default():
        resolved.add(_resolve(target, TargetFile(Path(target), python, env)))
    return resolved


def _resolve(target: str, file: TargetFile) -> Targets:
    if target in suites.named():
        return _suite(target)
    files.check_regular(file.path)
    _check_spelling(file.path)
    if file.path.suffix == ".py":
        from opbench.define.userfile import targets_from

        return targets_from(file.path, file.python, env=file.env)
    own = suites.first(lambda suite: suite.read_file(file))
    if own is not None:
        return own
    if file.path.suffix in RUN_FILES:
        return _run_file(file.path)
    if file.path.exists():
        raise UserError(f"{target} is not a Python, TOML or JSON file")
    return _suite(target)  # raises, with the nearest names


def _check_spelling(path: Path) -> None:
    """Refuse a file that is not there where its folder has one of nearly that name."""
    if not path.suffix or os.path.exists(path):
        return
    try:
        beside = [file.name for file in path.parent.iterdir() if file.suffix == path.suffix]
    except (OSError, ValueError):
        beside = []
    near = nearest(path.name, sorted(filter(str.isprintable, beside)), cutoff=0.75)
    if near:
        raise UserError(f"file not found: {path}{near}")


def _suite(name: str) -> Targets:
    return Targets(suites.load(name), suggested=dict(suites.find(name).options))


def _run_file(path: Path) -> Targets:
    from opbench.define import runfile

    content = runfile.load(path)
    targets = Targets()
    for suite in content.run.suites:
        targets.add(_suite(suite))
    targets.add(Targets(content.definitions, options_of(content.run)))
    return targets


def options_of(run: runfile.Run) -> dict[str, Any]:
    """The options that a `[run]` table gives."""
    given = run.model_dump(exclude_unset=True, exclude={"suites"})
    return {name: value for name, value in given.items() if value is not None}
