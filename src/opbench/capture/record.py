"""`opbench.record` and `opbench.record_api`: record operators, or Python calls, of a program.

with opbench.record("step.jsonl"):
    loss = model(x).sum(); loss.backward(); optimizer.step()

@opbench.record_api("calls.jsonl", functions=[my_kernel])
def step(batch): ...

opbench.record.start()          # two lines at the top of a script; written at its end
"""

from __future__ import annotations

import atexit
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opbench.capture.window import parse_span
from opbench.errors import UserError

if TYPE_CHECKING:
    from opbench.capture.api.recorder import ApiRecorder
    from opbench.capture.operators.recorder import OperatorRecorder

DEFAULT_FILE = "opbench-capture.jsonl"
DEFAULT_API_FILE = "opbench-api.jsonl"


class Recording:
    """A recording to be made: enter it, or put it above a function."""

    def __init__(self, create: Callable[..., Any], options: dict[str, Any], once: bool) -> None:
        self.create, self.options, self.once = create, options, once
        self._recorder: Any = None

    def __enter__(self) -> Recording:
        self._recorder = self.create(**self.options).start()
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._recorder is not None:
            self._recorder.finish()
            self._recorder = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, recorded the first time it is called, or as often as `calls` says; of
        Python calls, each time anew."""
        calls = self.options.pop("calls", None)
        first, last = parse_span(calls or 1)
        count = 0

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count == first or not self.once:
                self.__enter__()
            try:
                return function(*args, **kwargs)
            finally:
                if count == last or not self.once:
                    self.__exit__()

        return recorded


class Record:
    """What `opbench.record` and `opbench.record_api` are."""

    def __init__(self, create: Callable[..., Any], default: str, once: bool) -> None:
        self._create, self._default, self._once = create, default, once
        self._running: Any = None

    def __call__(self, path: str | Path | None = None, **options: Any) -> Recording:
        """Record what runs inside. Options of operators: steps="3-4", calls="2", values, timing,
        sizes; of Python calls: functions, values."""
        return Recording(self._create, {"path": path or self._default, **options}, once=self._once)

    def start(self, path: str | Path | None = None, **options: Any) -> Any:
        """Record from here on; the file is written when the window or the program ends."""
        if self._running is not None:
            raise UserError("a recording is running already; stop() ends it")
        if self._once:
            options.setdefault("auto", True)
        self._running = self._create(path or self._default, **options).start()
        atexit.register(self.stop)
        return self._running

    def stop(self) -> None:
        """End the recording that `start` began, and write its file."""
        if self._running is not None:
            self._running.finish()
            self._running = None
            atexit.unregister(self.stop)


def operator_recorder(path: str | Path, **options: Any) -> OperatorRecorder:
    from opbench.capture.operators.recorder import OperatorRecorder

    return OperatorRecorder(path, **options)


def api_recorder(path: str | Path, **options: Any) -> ApiRecorder:
    from opbench.capture.api.recorder import ApiRecorder

    return ApiRecorder(path, **options)


record = Record(operator_recorder, DEFAULT_FILE, once=True)
record_api = Record(api_recorder, DEFAULT_API_FILE, once=False)
