"""The metrics there are: one per file in `worker/metrics`, described by the file itself."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from opbench.result import Metric
from opbench.worker import metrics as folder


@cache
def metrics() -> dict[str, Metric]:
    """Every metric by name. The files import the standard library only, so asking is cheap."""
    found = {}
    for entry in pkgutil.iter_modules(folder.__path__):
        module = importlib.import_module(f"{folder.__name__}.{entry.name}")
        described = module.DESCRIBE
        found[entry.name] = Metric(**described)
    return found
