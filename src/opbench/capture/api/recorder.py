"""Records the Python calls of a program with all their arguments."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import torch

from opbench.capture.api.hooks import ApiHooks
from opbench.capture.api.log import ApiLog
from opbench.capture.ranks import path_of_rank, rank_of
from opbench.capture.reading import VERSION
from opbench.capture.writing import write_lines
from opbench.errors import UserError


class ApiRecorder:
    """One recording. `start`, then let the program run, then `finish`."""

    #: The one that is under way: there can only be one, as it patches torch's classes.
    current: ClassVar[ApiRecorder | None] = None

    def __init__(
        self,
        path: str | Path,
        *,
        functions: Iterable[Any] = (),
        values: bool = True,
        defer: bool = False,
    ) -> None:
        self.path = Path(path).absolute()
        self.log = ApiLog(values)
        self.written = False
        #: With `defer`, functions may be defined after recording began.
        self._hooks = ApiHooks(self.log, functions, defer)
        self._pid = os.getpid()

    def start(self) -> ApiRecorder:
        if ApiRecorder.current is not None:
            raise UserError("calls are being recorded already; finish that recording first")
        self._hooks.start()
        ApiRecorder.current = self
        return self

    def watch(self, function: Any) -> None:
        """Record a further function, from here on."""
        self._hooks.watch_function(function)

    def finish(self) -> None:
        """Stop recording and write the file."""
        if ApiRecorder.current is self:
            ApiRecorder.current = None
        self._hooks.stop()
        for name in self._hooks.pending:
            print(
                f"opbench: {name} was never defined, so no call of it is recorded", file=sys.stderr
            )
        # A process forked meanwhile has the log too, but the file is its parent's.
        if self._pid == os.getpid():
            self.path = path_of_rank(self.path, rank_of())
            write_lines([header(), *self.log.calls.values()], self.path)
            self.written = True


def header() -> dict[str, Any]:
    return {
        "opbench": "capture",
        "version": VERSION,
        "level": "api",
        "torch": str(torch.__version__),
        "threads": torch.get_num_threads(),
    }
