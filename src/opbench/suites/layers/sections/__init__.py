"""The sections of a layer config, one file each: its keys with their rules, and what its layers are
made of, take and give. Adding a layer is adding a file with a `SECTION`.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from opbench.suites.layers.sections.section import Section

#: Files that the others stand on.
BASE = ("section", "rules")


@cache
def sections() -> dict[str, type[Section]]:
    """Every section by its key in a config."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {n: import_module(f"{__name__}.{n}").SECTION for n in names if n not in BASE}
