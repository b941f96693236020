"""Where frameworks live that cannot share the current environment: MXNet, with an older NumPy.

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
    """The home of each framework of the request that needs one; `on_line` hears of builds."""
    if all(environment.name != "current" for environment in request.environments):
        return {}
    found: dict[str, Environment] = {}
    for case in request.cases:
        if case.framework in found or case.unsupported:
            continue
        name = home_of(case.framework)
        if name:
            found[case.framework] = _built(name, partial(on_line, name))
    return found


def named(request: Request) -> dict[str, Environment]:
    """The same by name only: a fleet builds them on the nodes that need them."""
    if all(environment.name != "current" for environment in request.environments):
        return {}
    frameworks_there = {case.framework for case in request.cases if not case.unsupported}
    names = {framework: home_of(framework) for framework in sorted(frameworks_there)}
    return {framework: Environment(name, "") for framework, name in names.items() if name}


def home_of(framework: str) -> str:
    """The environment that a framework needs; empty where the current one will do."""
    known = frameworks.get(framework)
    if not known.environment or importlib.util.find_spec(known.module) is not None:
        return ""
    return known.environment


def _built(name: str, on_line: Callable[[str], None]) -> Environment:
    try:
        return find(name, on_line)
    except UserError as error:
        return Environment(name, "", broken=str(error))
