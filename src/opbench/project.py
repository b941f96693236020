"""Defaults of a project: the table `[tool.opbench]` of its pyproject.toml, and `OPBENCH_STORE`.

The table is that of the nearest pyproject.toml that has one, from the current folder upwards. Its
keys are the options of a run (`opbench.plan.defaults` reads those) and `store`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opbench import files
from opbench.define import document
from opbench.errors import UserError

#: Overrides the store of the project, for this shell or this machine.
STORE = "OPBENCH_STORE"
FILE = "pyproject.toml"


@dataclass(frozen=True)
class Project:
    #: The file; nothing for a project without a table.
    path: Path | None = None
    #: The table as it is written, with underscores in its keys.
    table: dict[str, Any] = field(default_factory=dict)


def current() -> Project:
    """That of the current folder."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        path = folder / FILE
        if path.is_file() and b"tool.opbench" in _content(path):
            table = document.read(path).get("tool", {}).get("opbench")
            if isinstance(table, dict):
                return Project(path, {key.replace("-", "_"): table[key] for key in table})
    return Project()


def store() -> str | None:
    """The store to use when none is named: that of the shell, or else of the project."""
    if given := os.environ.get(STORE):
        return given
    project = current()
    value = project.table.get("store")
    if value is None or project.path is None:
        return None
    if not isinstance(value, str) or not value:
        raise UserError(f"{project.path}: tool.opbench.store: expected text, found {value!r}")
    # A path is relative to the file that names it, wherever in the project the command is given.
    return value if "://" in value else str(project.path.parent / files.expanded(value))


def _content(path: Path) -> bytes:
    """Nothing where it cannot be read: it is a file of other tools first."""
    try:
        return files.content(path)
    except UserError:
        return b""
