"""The frameworks, one file each, with the name of the module that it imports: adding a framework is
adding a file with a `FRAMEWORK`.

These files hold source text only: none of them imports its framework.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from functools import cache
from importlib import import_module

from opbench.errors import UserError, unknown
from opbench.frameworks.framework import Framework


@cache
def names() -> tuple[str, ...]:
    """All supported frameworks, whether or not they are installed here."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name != "framework"))


@cache
def get(name: str) -> Framework:
    if name not in names():
        raise UserError(unknown("framework", name, names()))
    framework: Framework = import_module(f"opbench.frameworks.{name}").FRAMEWORK
    return framework


@cache
def libraries() -> tuple[Framework, ...]:
    """All but plain Python, in the order of their rank."""
    found = (get(name) for name in names())
    return tuple(sorted((f for f in found if f.module), key=lambda framework: framework.rank))


def by_module() -> dict[str, Framework]:
    """One for each module: the eager one."""
    found: dict[str, Framework] = {}
    for framework in libraries():
        found.setdefault(framework.module, framework)
    return found


def of(modules: Iterable[str]) -> Framework:
    """The framework that code importing these modules is written for."""
    seen = set(modules)
    return next((f for f in libraries() if f.module in seen), get("python"))
