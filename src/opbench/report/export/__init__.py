"""Exporting results to a file: one format per file of this folder.

A format is a module with a function `write(results, runs, stream)`; its name on the command line
is that of the file, with hyphens. `NEEDS_SAMPLES` in it asks for raw samples, `BINARY` for a stream
of bytes. A format that has no place for some results gives back those it wrote, and says in
`HOLDS` which these are. Adding a format is adding that file.

Samples that other programs disturbed travel marked, or not at all: tools that compare means would
take them for a slower program.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import IO, Any

from opbench.errors import UserError, unknown
from opbench.store.records import RunRecord, StoredResult


def formats() -> list[str]:
    """Names of all formats, without importing any of them."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name.replace("_", "-") for name in names)


def needs_samples(name: str) -> bool:
    """Whether the format shows raw samples, so that a caller knows whether to load them."""
    return bool(getattr(_module(name), "NEEDS_SAMPLES", False))


def is_binary(name: str) -> bool:
    """Whether the format is bytes, which a terminal cannot show."""
    return bool(getattr(_module(name), "BINARY", False))


def export(
    name: str, results: Sequence[StoredResult], runs: Sequence[RunRecord], stream: IO[Any]
) -> list[StoredResult]:
    """Write `results` to `stream` in the format `name`; `runs` describe the runs they are from.
    The answer is what the format has no place for."""
    written = _module(name).write(results, runs, stream)
    if written is None:
        return []
    kept = set(map(id, written))
    return [stored for stored in results if id(stored) not in kept]


def holds(name: str) -> str:
    """Which results the format has a place for, as in `it holds …`."""
    return str(getattr(_module(name), "HOLDS", "every result"))


def _module(name: str) -> ModuleType:
    known = formats()
    if name.replace("_", "-") not in known:
        raise UserError(unknown("format", name, known))
    return import_module(f"{__name__}.{name.replace('-', '_')}")
