"""The formats that `opbench import` reads: one file of this folder each.

A format is a module with `TOOL`, the name people know it by; `reads(data)`, which says whether a
parsed file is that tool's; and `read(data, path)`, which gives what is in it: one `Imported`, or a
list of them for a file of several runs. `files(folder)` in it finds its files in a folder that was
named whole. Adding a format is adding that file.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType


@cache
def formats() -> tuple[ModuleType, ...]:
    """By name. A file is read by the first whose `reads` says yes; no two say it of one file."""
    found = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(import_module(f"{__name__}.{name}") for name in found)


def tools() -> str:
    """`asv, criterion, … or pytest-benchmark`."""
    *most, last = sorted((module.TOOL for module in formats()), key=str.lower)
    return f"{', '.join(most)} or {last}"
