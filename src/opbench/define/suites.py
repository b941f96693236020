"""The suites: every folder of `opbench.suites` with a `suite.py`.

Adding a suite is adding a folder. Each is asked through the interface of `define/suite.py`; its
definitions, and what they import, are loaded when it is run.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import TypeVar

from opbench.case import Case
from opbench.define.definition import Definition
from opbench.define.expand import expand
from opbench.define.suite import Suite
from opbench.errors import UserError, unknown
from opbench.plan.options import RunOptions

PACKAGE = "opbench.suites"

Answer = TypeVar("Answer")


@cache
def every() -> dict[str, Suite]:
    """All suites by the name of their folder."""
    package = import_module(PACKAGE)
    return {
        folder.name: import_module(f"{PACKAGE}.{folder.name}.suite").SUITE
        for folder in sorted(pkgutil.iter_modules(package.__path__), key=lambda each: each.name)
        if folder.ispkg
    }


def named() -> dict[str, Suite]:
    """The suites that can be run by name."""
    return {name: suite for name, suite in every().items() if suite.about}


def find(name: str) -> Suite:
    if name not in named():
        raise UserError(unknown("suite or file", name, named()))
    return named()[name]


def load(name: str) -> list[Definition]:
    """The definitions of one suite."""
    return list(find(name).definitions())


def cases(definitions: list[Definition], options: RunOptions) -> list[Case]:
    """What a run with these options measures of the definitions, as far as all suites leave it."""
    for suite in every().values():
        definitions = suite.narrow(definitions, options)
    return expand(
        definitions,
        axes=options.axes,
        keep=options.keep,
        stages=options.stages,
        device=options.device,
        threads=options.threads,
        seed=options.seed,
        points=options.shapes,
    )


def family(case: Case, axis: str) -> str:
    """The name under which a case is measured together with others: see `Suite.family`."""
    return first(lambda suite: suite.family(case, axis)) or case.name


def default() -> list[str]:
    """The suites that run when none is named."""
    return [name for name, suite in named().items() if suite.default]


def first(ask: Callable[[Suite], Answer | None]) -> Answer | None:
    """The answer of the first suite that gives one; None without any."""
    answers = map(ask, every().values())
    return next((answer for answer in answers if answer is not None), None)


def some(ask: Callable[[Suite], bool]) -> bool:
    """Whether the answer of any suite is yes."""
    return any(map(ask, every().values()))


def together(ask: Callable[[Suite], Iterable[Answer]]) -> list[Answer]:
    """What every suite adds, in one list."""
    return [answer for suite in every().values() for answer in ask(suite)]


def merged(ask: Callable[[Suite], Mapping[str, Answer]]) -> dict[str, Answer]:
    """What every suite adds by name."""
    return dict(together(lambda suite: ask(suite).items()))
