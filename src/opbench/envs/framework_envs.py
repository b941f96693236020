"""The environments of frameworks that cannot share the current one: MXNet needs an older NumPy.

Such an environment is built when the first of its cases is run. Where it cannot be built, those
cases are unsupported, with the reason, and everything else is measured.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from opbench import frameworks
from opbench.envs.environments import Environment, find
from opbench.errors import UserError

if TYPE_CHECKING:
    from opbench.plan.request import Request


def of(request: Request, on_line: Callable[[str, str], None]) -> dict[str, Environment]:
    """The environment of each framework of the request that needs one of its own; `on_line` gets
    the name and each line of a build."""
    found = named(request)
    return {
        framework: _built(environment.name, partial(on_line, environment.name))
        for framework, environment in found.items()
    }


def named(request: Request) -> dict[str, Environment]:
    """The same by name only, not built: a fleet builds them on the nodes that need them."""
    if all(environment.name != "current" for environment in request.environments):
        return {}
    used = dict.fromkeys(case.framework for case in request.cases if not case.unsupported)
    names = {framework: env_name_of(framework) for framework in used}
    return {framework: Environment(name, "") for framework, name in names.items() if name}


def env_name_of(framework: str) -> str:
    """The environment that a framework needs; empty where the current one has it."""
    known = frameworks.get(framework)
    if not known.environment or importlib.util.find_spec(known.module) is not None:
        return ""
    return known.environment


def _built(name: str, on_line: Callable[[str], None]) -> Environment:
    try:
        return find(name, on_line)
    except UserError as error:
        return Environment(name, "", broken=str(error))
