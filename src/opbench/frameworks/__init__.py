"""The frameworks, one file each. Adding a framework is adding a file with a `FRAMEWORK`.

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


def of(modules: Iterable[str]) -> Framework:
    """The framework that code importing these modules is written for."""
    seen = set(modules)
    ranked = sorted((get(name) for name in names()), key=lambda framework: framework.rank)
    return next((f for f in ranked if f.module in seen), get("python"))
