"""`opbench.record_api`: the Python calls of a program, with all their arguments, as JSON Lines.

with opbench.record_api("calls.jsonl", functions=[my_kernel]):
    model(x)

@opbench.record_api("calls.jsonl")
def step(): ...

opbench.record_api.start()      # at the top of a script; the file is written at its end
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from opbench.capture.api_mode import Calls, Watching
from opbench.errors import UserError

DEFAULT = "opbench-api.jsonl"
VERSION = 1


class ApiRecording:
    """Records between `start` and `finish`; a context manager and a decorator."""

    def __init__(
        self,
        path: str | Path = DEFAULT,
        *,
        functions: Iterable[Any] = (),
        values: bool = True,
        patient: bool = False,
    ) -> None:
        self.path = Path(path)
        self.calls = Calls(values)
        self._watching = Watching(self.calls, functions, patient)
        self._pid = 0

    def start(self) -> ApiRecording:
        global _current
        if _current is not None:
            raise UserError("calls are being recorded already; finish that recording first")
        if not self.path.absolute().parent.is_dir():
            raise UserError(f"cannot write {self.path}: there is no such folder")
        self._watching.start()
        self._pid = os.getpid()
        _current = self
        return self

    def watch(self, function: Any) -> None:
        """Record a further function, from here on."""
        self._watching.watch_function(function)

    def finish(self) -> Path:
        """Stop recording and write the file."""
        global _current
        if _current is self:
            _current = None
        self._watching.stop()
        for name in self._watching.pending:
            print(
                f"opbench: {name} was never defined, so no call of it is recorded", file=sys.stderr
            )
        # A process forked meanwhile has the record too, but the file is its parent's.
        if self._pid == os.getpid():
            self.write()
        return self.path

    def write(self) -> None:
        lines = [header(), *self.calls.found.values()]
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        part = self.path.with_name(self.path.name + f".{os.getpid()}.part")
        try:
            part.write_text(text, encoding="utf-8")
            part.replace(self.path)
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror}") from None

    def __enter__(self) -> ApiRecording:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.finish()

    def __call__(self, function: Callable) -> Callable:
        @wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            fresh = ApiRecording(
                self.path, functions=self._watching.functions, values=self.calls.values
            )
            with fresh:
                return function(*args, **kwargs)

        return recorded


_current: ApiRecording | None = None


def header() -> dict[str, Any]:
    import torch

    return {
        "opbench": "capture",
        "version": VERSION,
        "level": "api",
        "torch": str(torch.__version__),
        "threads": torch.get_num_threads(),
    }


def start(path: str | Path = DEFAULT, options: Mapping[str, Any] | None = None) -> ApiRecording:
    """Begin to record a script that knows nothing of it: `finish` writes the file. Functions that
    are named may be defined later."""
    wanted = {name: (options or {}).get(name) for name in ("functions", "values")}
    given = {name: value for name, value in wanted.items() if value is not None}
    return ApiRecording(path, patient=True, **given).start()


def finish() -> Path | None:
    """End the recording that is under way, if there is one."""
    return _current.finish() if _current is not None else None


class RecordApi:
    """What `opbench.record_api` is."""

    def __call__(self, path: str | Path = DEFAULT, **options: Any) -> ApiRecording:
        return ApiRecording(path, **options)

    def start(self, path: str | Path = DEFAULT, **options: Any) -> ApiRecording:
        """Record from here on; the file is written when the program ends, or `stop` is called."""
        recording = ApiRecording(path, **options).start()
        atexit.register(finish)
        return recording

    def stop(self) -> Path | None:
        return finish()


record_api = RecordApi()
