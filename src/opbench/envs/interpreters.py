"""Interpreters that others built, as environments: by path, or by a name that was added for one.

A build of PyTorch from source, a conda environment, somebody's virtual environment: nothing is
installed and nothing pinned. The names are kept with the built environments.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from opbench.envs import builds
from opbench.errors import UserError


def is_path(text: str) -> bool:
    return os.sep in text or text.startswith("~")


def python_at(text: str) -> str:
    """The interpreter at a path: itself, or the one of a virtual or conda environment."""
    path = Path(text).expanduser().absolute()
    if path.is_dir():
        inside = path / "bin" / "python"
        if not inside.exists():
            raise UserError(f"{text} is a folder without bin/python; name an interpreter")
        path = inside
    if not path.exists():
        raise UserError(f"interpreter not found: {text}")
    if not os.access(path, os.X_OK):
        raise UserError(f"{text} is not executable; name an interpreter")
    return str(path)  # links are kept: a virtual environment is found by the place of its link


def added() -> dict[str, str]:
    """The names that were added, and their interpreters."""
    if not _folder().is_dir():
        return {}
    files = sorted(file for file in _folder().iterdir() if builds.NAME.fullmatch(file.name))
    return {file.name: file.read_text(encoding="utf-8").strip() for file in files}


def add(name: str, python: str) -> str:
    """Give an interpreter a name; returns its path."""
    builds.check_name(name)
    if builds.load(name) is not None:
        raise UserError(f"environment '{name}' exists; choose another name")
    path = python_at(python if is_path(python) else shutil.which(python) or python)
    known = added().get(name)
    if known not in (None, path):
        raise UserError(
            f"'{name}' is {known}; choose another name, or remove it first: "
            f"opbench env remove {name}"
        )
    try:
        _folder().mkdir(parents=True, exist_ok=True)
        (_folder() / name).write_text(f"{path}\n", encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"cannot write to {_folder()}: {error.strerror}; set OPBENCH_HOME to another folder"
        ) from None
    return path


def remove(name: str) -> None:
    """Forget a name; the interpreter stays."""
    (_folder() / name).unlink()


def _folder() -> Path:
    return builds.home() / ".added"
