"""The metrics there are: one per file in `worker/metrics`, described by the file itself."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache

from opbench.errors import UserError, unknown
from opbench.result import Metric
from opbench.worker import metrics as folder


@cache
def metrics() -> dict[str, Metric]:
    """Every metric by name. The files import the standard library only, so asking is cheap."""
    found = {}
    for entry in pkgutil.iter_modules(folder.__path__):
        module = importlib.import_module(f"{folder.__name__}.{entry.name}")
        found[entry.name] = Metric(entry.name, **module.DESCRIBE)
    return found


#: What `--clock` takes, and the metric each of them measures in the place of `time`.
CLOCKS = {
    "opbench": "time",
    "python": "time_python",
    "cuda": "time_cuda",
    "torch": "time_torch",
}

#: On a GPU the time somebody waits and the time the device works are two things.
ON_CUDA = ("host_time", "device_time")


def chosen(names: Iterable[str], clock: str = "", device: str = "cpu") -> tuple[str, ...]:
    """The metrics to measure: `time` by the clock that was asked for, or as the device needs it."""
    if clock and clock not in CLOCKS:
        raise UserError(unknown("clock", clock, CLOCKS))
    timing: tuple[str, ...] = (CLOCKS[clock or "opbench"],)
    if timing == ("time",) and device.split(":")[0] == "cuda":
        timing = ON_CUDA
    found: list[str] = []
    for name in names:
        if name not in metrics():
            raise UserError(unknown("metric", name, metrics()))
        found += timing if name == "time" else (name,)
    return tuple(dict.fromkeys(found))
