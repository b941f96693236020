"""The built-in suites, by name. A suite is a module with a function `definitions()`.

Adding a suite is adding one line here and one file; nothing is imported before it is asked for.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib import import_module

from opbench.define.definition import DefineError, Definition


@dataclass(frozen=True)
class Suite:
    module: str
    #: One line for `opbench list` and `opbench run --help`.
    about: str


SUITES: dict[str, Suite] = {
    "tour": Suite("opbench.define.tour", "a two-minute tour: torch on the CPU, small and mixed"),
}


class UnknownSuite(DefineError):
    pass


def load(name: str) -> list[Definition]:
    """The definitions of one built-in suite."""
    if name not in SUITES:
        near = difflib.get_close_matches(name, SUITES, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there is {', '.join(SUITES)}"
        raise UnknownSuite(f"no suite or file called '{name}'; {hint}")
    return list(import_module(SUITES[name].module).definitions())
