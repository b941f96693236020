"""The older tool's names, so that a script needs only another import line.

    from opbench.patching_hook import init, hook
    nn.modules.module.register_module_forward_pre_hook(hook)
    init()

`init` records every module, every torch function and every tensor method, not a list of them, and
writes JSON Lines instead of a pickle. New scripts say `opbench.record_api.start()` instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opbench.capture.api_recorder import ApiRecorder
from opbench.capture.record import DEFAULT_API_FILE, record_api

__all__ = ["add_wrapper", "hook", "init"]


def init(path: str | Path = DEFAULT_API_FILE) -> None:
    """Record from here on; the file is written when the program ends."""
    if ApiRecorder.current is None:
        record_api.start(path)


def hook(module: Any, input: Any) -> None:
    """A forward pre-hook common to all modules. After `init` it has nothing left to do: modules
    are seen with their keyword arguments there, which such a hook is not given."""
    if ApiRecorder.current is None:
        init()
        assert ApiRecorder.current is not None
        log = ApiRecorder.current.log
        key = log.module_key(module, tuple(input), {})
        log.end(key, None, log.path_of(module))


def add_wrapper(mod: Any, name: str) -> None:
    """Record `mod.name` as well: any function that torch does not know of."""
    if ApiRecorder.current is None:
        init()
    assert ApiRecorder.current is not None
    ApiRecorder.current.watch(getattr(mod, name))
