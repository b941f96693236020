"""Options of a run that a project sets for all its runs, in `[tool.opbench]` of pyproject.toml.

How to measure, not what: which cases to take is said by the command or the run file.
"""

from __future__ import annotations

from typing import Any

from opbench import project
from opbench.errors import UserError, unknown
from opbench.plan.options import CLUSTER, MACHINE, OPTIONS, SAMPLING, options_of

#: What to measure of every case.
OF_EVERY_CASE = ("metrics", "clock", "device", "seed", "imports")


def allowed() -> list[str]:
    """Of those that run files take and that make sense for a comparison of two commits too."""
    both = options_of("file").keys() & options_of("ab").keys()
    sections = (SAMPLING, MACHINE, CLUSTER)
    return [
        name
        for name, each in OPTIONS.items()
        if name in both and (each.section in sections or name in OF_EVERY_CASE)
    ]


def project_options() -> dict[str, Any]:
    """Those of the current project, in their final form."""
    found = project.current()
    known = allowed()
    options = {}
    for name, value in found.table.items():
        if name == "store":
            continue
        if name not in known:
            text = unknown("option", name, ["store", *known])
            raise UserError(f"{found.path}: tool.opbench: {text}")
        try:
            options[name] = OPTIONS[name].kind.read(value)
        except ValueError as error:
            raise UserError(f"{found.path}: tool.opbench.{name}: {error}") from None
    return options
